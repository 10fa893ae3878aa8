"""Model files: named arrays in one `.npz`, checked, deterministic, never pickled.

The file is a plain zip of `.npy` members, stored without compression, in the order of their names and with a fixed
date, so that the same arrays always give the same bytes. The member `sha256` holds the hash of the content.
`numpy.load` reads such a file too.

The hash finds damage and careless editing. It is no signature: whoever rewrites a file can rewrite its hash. Compare
the hash that `read_arrays` returns with the one printed in the model card to know that the file is the published one.

A large array is not read but mapped: its pages are those of the file, shared by all processes that use it, and `let_go`
gives them back until they are needed again. So while a process uses a model file, the file is replaced (`os.replace`,
as `write_arrays` and installers do), and never written into.
"""

from __future__ import annotations

import hashlib
import io
import math
import mmap
import re
import struct
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from streamdeid.core.atomic_file import put_in_place, reason_of, reserve
from streamdeid.core.system_reason import system_reason
from streamdeid.errors import ModelError, OutputError

Arrays = dict[str, NDArray[Any]]

_HASH_MEMBER = "sha256"
_NAME = re.compile(r"[a-z][a-z0-9_]*")
_KINDS = "biufU"  # bool, integers, floats, text: nothing that could carry objects
_DATE = (1980, 1, 1, 0, 0, 0)  # the earliest date a zip can hold
_MAGIC = b"\x93NUMPY"
_HALF_EXPONENT = np.uint16(0x7C00)
"""Bits of a float16 that are all set where it is infinite or nan."""
_PIECE = 1 << 16
"""Number of float16 values that are checked together, so that intermediate results stay in the processor's cache."""
_LARGE = 1 << 20
"""Bytes from which an array is mapped."""
_LONGEST_HEADER = 4096
"""Bytes in which the header of a mapped array has to end; NumPy writes 128."""
_LOCAL_HEADER = struct.Struct("<4s22xHH")
"""Local header of a zip's member: its mark, and the lengths of its name and of its extra field."""
_LOCAL_MARK = b"PK\3\4"


def content_sha256(arrays: Mapping[str, NDArray[Any]]) -> str:
    """SHA-256, 64 hex digits, over name, dtype, shape and little-endian C-order bytes of the arrays, sorted by name."""
    digest = hashlib.sha256()
    for name in sorted(arrays):
        array = _plain(arrays[name])
        digest.update(f"{name} {array.dtype.str} {array.shape}\n".encode())
        digest.update(array.data if array.dtype.kind != "U" else array.tobytes())  # text has no buffer
    return digest.hexdigest()


def write_arrays(path: Path, arrays: Mapping[str, NDArray[Any]]) -> str:
    """Write arrays (bool, integer, finite float or text) whole or not at all; return the content's SHA-256.

    Raises ValueError for a name or dtype that a model file cannot hold, OutputError when the disk refuses.
    """
    members: Arrays = {}
    for name, given in arrays.items():
        array = np.asarray(given)
        if not _NAME.fullmatch(name) or name == _HASH_MEMBER:
            raise ValueError(f"{name!r} cannot name an array of a model file")
        if array.dtype.kind not in _KINDS:
            raise ValueError(f"array {name!r} has dtype {array.dtype}, which a model file cannot hold")
        if array.dtype.kind == "f" and not np.isfinite(array).all():
            raise ValueError(f"array {name!r} has values that are not finite")
        members[name] = _plain(array)
    sha256 = content_sha256(members)
    members[_HASH_MEMBER] = np.array(sha256)
    growing = reserve(path)
    try:
        with growing.opened() as file, zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
            for name in sorted(members):
                buffer = io.BytesIO()
                np.save(buffer, members[name], allow_pickle=False)
                info = zipfile.ZipInfo(f"{name}.npy", _DATE)
                info.create_system = 3  # otherwise Windows and Linux would write different bytes
                info.external_attr = 0o644 << 16
                archive.writestr(info, buffer.getbuffer())
        put_in_place(growing, path, overwrite=True)
    except OSError as error:
        raise OutputError(f"{path} cannot be written: {reason_of(error)}") from error
    finally:
        growing.discard()
        growing.let_go()
    return sha256


def read_arrays(path: Path) -> tuple[Arrays, str]:
    """Read a file of `write_arrays`: the arrays by name, and their SHA-256, which was checked.

    Raises ModelError, one line, for a missing, damaged or altered file, and for anything `write_arrays` cannot have
    written: objects (pickles), compressed or repeated members, values that are not finite.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            arrays = _read_members(path, archive)
    except OSError as error:
        raise ModelError(f"cannot read model file {path}: {system_reason(error, as_told=True)}") from error
    except Exception as error:
        # zipfile and numpy raise a dozen kinds of errors on hostile bytes; all of them mean the same here.
        raise ModelError(f"model file {path} is damaged: {_one_line(error)}") from error
    stored = arrays.pop(_HASH_MEMBER, None)
    if stored is None or stored.dtype.kind != "U" or stored.shape != ():
        raise ModelError(f"model file {path} holds no {_HASH_MEMBER}")
    sha256 = content_sha256(arrays)
    if str(stored) != sha256:
        raise ModelError(f"model file {path} was altered: its content does not match its {_HASH_MEMBER}")
    return arrays, sha256


def _read_members(path: Path, archive: zipfile.ZipFile) -> Arrays:
    members = archive.infolist()
    # Stored members that do not overlap cannot be larger than the file: no small file can fill the memory.
    if any(member.compress_type != zipfile.ZIP_STORED for member in members):
        raise ValueError("a member is compressed")
    if sum(member.file_size for member in members) > path.stat().st_size:
        raise ValueError("members are larger than the file")
    arrays: Arrays = {}
    for member in members:
        name = member.filename.removesuffix(".npy")
        if not _NAME.fullmatch(name) or name in arrays or not member.filename.endswith(".npy"):
            raise ValueError(f"unexpected member {member.filename!r}")
        array, end = _mapped(path, member) if member.file_size >= _LARGE else _loaded(archive.read(member))
        if array.dtype.kind not in _KINDS or end != member.file_size:
            raise ValueError(f"array {name!r} has dtype {array.dtype} or bytes beyond its end")
        if array.dtype.kind == "f" and not _finite(array):
            raise ValueError(f"array {name!r} has values that are not finite")
        arrays[name] = array
    return arrays


def let_go(array: NDArray[Any]) -> None:
    """Give back the memory of an array that `read_arrays` mapped; using the array reads it again, 3 ms for 25 MiB.

    Nothing happens for other arrays, or where memory cannot be given back.
    """
    if isinstance(array.base, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED"):
        array.base.madvise(mmap.MADV_DONTNEED)


def _loaded(data: bytes) -> tuple[NDArray[Any], int]:
    """The array of a `.npy` member, and the end of its bytes."""
    if not data.startswith(_MAGIC):
        raise ValueError("a member is not an array")
    buffer = io.BytesIO(data)
    return np.load(buffer, allow_pickle=False), buffer.tell()


def _mapped(path: Path, member: zipfile.ZipInfo) -> tuple[NDArray[Any], int]:
    """`_loaded` for a large member, which stays in the file and is read-only; the content's hash replaces its CRC."""
    with path.open("rb") as file:
        mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    mark, *lengths = _LOCAL_HEADER.unpack_from(mapped, member.header_offset)
    begin = member.header_offset + _LOCAL_HEADER.size + sum(lengths)
    if mark != _LOCAL_MARK or mapped[begin : begin + len(_MAGIC)] != _MAGIC or begin + member.file_size > len(mapped):
        raise ValueError("a member is not an array")
    buffer = io.BytesIO(mapped[begin : begin + _LONGEST_HEADER])
    version = np.lib.format.read_magic(buffer)
    read = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}[version]
    shape, backwards, dtype = read(buffer)
    if backwards or dtype.kind not in _KINDS:
        raise ValueError(f"{dtype} in an order that is not written")
    start, count = buffer.tell(), math.prod(shape)
    array: NDArray[Any] = np.ndarray(
        shape, dtype, mapped, begin + start
    )  # raises TypeError where the file is too short for it
    return array, start + count * dtype.itemsize


def _finite(array: NDArray[Any]) -> bool:
    """Whether all values are finite. NumPy takes float16 values one by one; testing their bits is six times as fast."""
    if array.dtype == np.float16:
        halves = array.reshape(-1).view(np.uint16)
        pieces = (halves[i : i + _PIECE] & _HALF_EXPONENT for i in range(0, len(halves), _PIECE))
        return not any((piece == _HALF_EXPONENT).any() for piece in pieces)
    return bool(np.isfinite(array).all())


def _plain(array: NDArray[Any]) -> NDArray[Any]:
    """The same values in C order, little endian (0-d stays 0-d)."""
    return np.asarray(array, dtype=array.dtype.newbyteorder("<"), order="C")


def _one_line(error: BaseException) -> str:
    return " ".join(str(error).split()) or type(error).__name__

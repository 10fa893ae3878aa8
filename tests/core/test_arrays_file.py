"""Model files: deterministic, whole, never pickled, and altered ones refused."""

from __future__ import annotations

import io
import sys
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from streamdeid.core.arrays_file import content_sha256, let_go, read_arrays, write_arrays
from streamdeid.core.process_usage import own_usage
from streamdeid.errors import ModelError, OutputError

ARRAYS: dict[str, NDArray[Any]] = {
    "basis": np.arange(6, dtype=np.float32).reshape(2, 3),
    "names": np.array(["one", "zwölf"]),
    "triangles": np.array([[0, 1, 2]], dtype=np.int32),
    "weight": np.array(2.5),
    "none": np.empty((0, 4)),
}


def test_arrays_come_back_with_their_dtypes_shapes_and_hash(tmp_path: Path) -> None:
    written = write_arrays(tmp_path / "a.npz", ARRAYS)
    arrays, sha256 = read_arrays(tmp_path / "a.npz")
    assert sha256 == written == content_sha256(ARRAYS)
    assert arrays.keys() == ARRAYS.keys()
    for name, array in ARRAYS.items():
        assert arrays[name].dtype == array.dtype
        assert arrays[name].shape == array.shape
        assert np.array_equal(arrays[name], array)


def test_bytes_do_not_depend_on_order_memory_layout_or_time(tmp_path: Path) -> None:
    write_arrays(tmp_path / "a.npz", ARRAYS)
    shuffled = {name: ARRAYS[name] for name in reversed(ARRAYS)}
    shuffled["basis"] = np.asfortranarray(ARRAYS["basis"]).astype(">f4")
    write_arrays(tmp_path / "b.npz", shuffled)
    assert (tmp_path / "a.npz").read_bytes() == (tmp_path / "b.npz").read_bytes()
    with zipfile.ZipFile(tmp_path / "a.npz") as archive:
        assert {member.date_time for member in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}


@pytest.mark.parametrize(
    "change",
    [
        {"weight": np.array(2.6)},
        {"weight": np.array([2.5])},
        {"weight": np.array(2.5, np.float32)},
        {"more": np.ones(1)},
    ],
)
def test_the_hash_sees_values_shapes_dtypes_and_names(change: dict[str, NDArray[Any]]) -> None:
    assert content_sha256({**ARRAYS, **change}) != content_sha256(ARRAYS)


@pytest.mark.parametrize(
    "bad",
    [{"A": np.ones(1)}, {"sha256": np.ones(1)}, {"o": np.array([{}])}, {"n": np.array(np.nan)}, {"c": np.ones(1) * 1j}],
)
def test_what_a_model_file_cannot_hold_is_not_written(tmp_path: Path, bad: dict[str, NDArray[Any]]) -> None:
    with pytest.raises(ValueError, match=r"cannot|not finite"):
        write_arrays(tmp_path / "a.npz", bad)
    assert not list(tmp_path.iterdir())


def test_a_disk_that_refuses_is_an_output_error(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="cannot be written"):
        write_arrays(tmp_path / "missing" / "a.npz", ARRAYS)


@given(position=st.integers(0, 10**6), flip=st.integers(1, 255))
@settings(max_examples=150, deadline=None)
def test_a_flipped_byte_is_refused_or_changes_nothing(position: int, flip: int) -> None:
    path = Path(_scratch.name) / "a.npz"
    data = bytearray(_whole_file(path))
    data[position % len(data)] ^= flip
    path.write_bytes(data)
    message = ""
    try:
        arrays, _ = read_arrays(path)
    except ModelError as error:
        arrays, message = ARRAYS, str(error)
    assert "\n" not in message
    assert all(np.array_equal(arrays[name], array) for name, array in ARRAYS.items())


@given(length=st.integers(0, 10**6))
@settings(max_examples=50, deadline=None)
def test_a_truncated_file_is_refused(length: int) -> None:
    path = Path(_scratch.name) / "a.npz"
    data = _whole_file(path)
    path.write_bytes(data[: length % len(data)])
    with pytest.raises(ModelError):
        read_arrays(path)


def test_missing_file_and_directory_are_refused(tmp_path: Path) -> None:
    for path in (tmp_path / "none.npz", tmp_path):
        with pytest.raises(ModelError, match="cannot read"):
            read_arrays(path)


def test_pickles_are_never_loaded(tmp_path: Path) -> None:
    buffer = io.BytesIO()
    np.save(buffer, np.array([Trap()], dtype=object), allow_pickle=True)
    _zip(tmp_path / "a.npz", {"basis.npy": buffer.getvalue()})
    with pytest.raises(ModelError, match="damaged"):
        read_arrays(tmp_path / "a.npz")
    assert not Trap.sprung


@pytest.mark.parametrize(
    "kind", ["compressed", "repeated", "stranger", "no hash", "wrong hash", "not finite", "trailing", "bad header"]
)
def test_what_write_arrays_cannot_have_written_is_refused(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "a.npz"
    one = _npy(np.ones(1))
    good_hash = _npy(np.array(content_sha256({"basis": np.ones(1)})))
    _zip(path, {"basis.npy": one, "sha256.npy": good_hash})
    assert np.array_equal(read_arrays(path)[0]["basis"], np.ones(1))
    if kind == "compressed":
        _zip(path, {"basis.npy": one, "sha256.npy": good_hash}, zipfile.ZIP_DEFLATED)
    elif kind == "repeated":
        with zipfile.ZipFile(path, "a") as archive, pytest.warns(UserWarning, match="Duplicate"):
            archive.writestr("basis.npy", one)
    elif kind == "stranger":
        _zip(path, {"basis.npy": one, "sha256.npy": good_hash, "../x.npy": one})
    elif kind == "no hash":
        _zip(path, {"basis.npy": one})
    elif kind == "wrong hash":
        _zip(path, {"basis.npy": _npy(np.zeros(1)), "sha256.npy": good_hash})
    elif kind == "not finite":
        broken = np.array([np.inf])
        _zip(path, {"basis.npy": _npy(broken), "sha256.npy": _npy(np.array(content_sha256({"basis": broken})))})
    elif kind == "trailing":
        _zip(path, {"basis.npy": one + b"x", "sha256.npy": good_hash})
    else:
        _zip(path, {"basis.npy": one.replace(b"'shape': (1,)", b"'shape': (1,("), "sha256.npy": good_hash})
    with pytest.raises(ModelError):
        read_arrays(path)


class Trap:
    """Would leave a mark if it were ever unpickled."""

    sprung = False

    def __reduce__(self) -> tuple[Any, ...]:
        return setattr, (Trap, "sprung", True)


def _npy(array: NDArray[Any]) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, array, allow_pickle=False)
    return buffer.getvalue()


def _zip(path: Path, members: dict[str, bytes], compression: int = zipfile.ZIP_STORED) -> None:
    with zipfile.ZipFile(path, "w", compression) as archive:
        for name, data in members.items():
            archive.writestr(name, data)


def _whole_file(path: Path) -> bytes:
    write_arrays(path, ARRAYS)
    return path.read_bytes()


@pytest.fixture(autouse=True, scope="module")
def _scratch_directory(tmp_path_factory: pytest.TempPathFactory) -> None:
    _scratch.name = str(tmp_path_factory.mktemp("arrays"))


class _Scratch:
    """Where the hypothesis tests write; they cannot take a fixture of function scope."""

    name = ""


_scratch = _Scratch()


def test_a_large_array_is_read_like_a_small_one_and_its_bad_halves_are_found(tmp_path: Path) -> None:
    large = np.linspace(-6e4, 6e4, 1 << 20).astype(np.float16).reshape(1024, 1024)
    written = write_arrays(tmp_path / "a.npz", {"basis": large, "floats": large.astype(np.float32)})
    arrays, sha256 = read_arrays(tmp_path / "a.npz")
    assert sha256 == written == content_sha256(arrays)
    assert arrays["basis"].dtype == np.float16 and np.array_equal(arrays["basis"], large)
    assert arrays["floats"].dtype == np.float32 and np.array_equal(arrays["floats"], large)
    for bad in (np.inf, -np.inf, np.nan):
        broken = large.copy()
        broken[700, 3] = bad
        with zipfile.ZipFile(tmp_path / "b.npz", "w") as archive, archive.open("basis.npy", "w") as member:
            np.save(member, broken)
        with pytest.raises(ModelError, match="not finite"):
            read_arrays(tmp_path / "b.npz")


@pytest.mark.parametrize("more", [b"", b"x", b"x" * 4096])
def test_bytes_before_and_beyond_the_end_of_a_large_array_are_refused(tmp_path: Path, more: bytes) -> None:
    buffer = io.BytesIO()
    np.save(buffer, np.zeros(1 << 20, np.float16))
    data = buffer.getvalue() + more if more else buffer.getvalue()[:-2]
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
        archive.writestr("basis.npy", data)
    with pytest.raises(ModelError):
        read_arrays(tmp_path / "a.npz")


def test_a_large_array_of_objects_is_refused(tmp_path: Path) -> None:
    buffer = io.BytesIO()
    np.save(buffer, np.array([{"a": 1}] * (1 << 18), object), allow_pickle=True)
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
        archive.writestr("basis.npy", buffer.getvalue() + bytes(1 << 21))
    with pytest.raises(ModelError):
        read_arrays(tmp_path / "a.npz")


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="memory cannot be given back")
def test_a_large_array_gives_its_memory_back_and_keeps_its_values(tmp_path: Path) -> None:
    given = np.arange(1 << 23, dtype=np.uint16)
    write_arrays(tmp_path / "a.npz", {"large": given, "small": np.ones(3)})
    arrays, _ = read_arrays(tmp_path / "a.npz")
    assert np.array_equal(arrays["large"], given)
    held = own_usage()[1]
    for array in arrays.values():
        let_go(array)
    assert held - own_usage()[1] >= 15 << 20  # of 16
    assert np.array_equal(arrays["large"], given)
    assert np.array_equal(arrays["small"], np.ones(3))

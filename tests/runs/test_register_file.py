"""The file of a register: whole or as it was, whoever writes; and files that somebody else had his hands on."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from streamdeid.core import atomic_file, file_lock
from streamdeid.core.file_lock import locked
from streamdeid.errors import InputError, OutputError, SettingsError, StreamdeidError
from streamdeid.identity.register_coding import encoded
from streamdeid.identity.registered import PeopleRegister, registered
from streamdeid.runs.register_file import KIND, RegisterFile, check_made_by, private_key
from tests.registers import KEY, empty, key_file, of, somebody

pytest.importorskip("cryptography", reason="the extra `register` is not installed")

ROOT = Path(__file__).parents[2]


@pytest.fixture
def file(tmp_path: Path) -> RegisterFile:
    """A register of two people."""
    found = RegisterFile(tmp_path / "people.register", KEY)
    found.made(of(1000, 2000))
    return found


def add(file: RegisterFile, number: int) -> None:
    with file.opened() as (register, write):
        write(registered(register, somebody(number)))


def numbers(file: RegisterFile) -> set[int]:
    return set(file.read().people)


def leftovers(file: RegisterFile) -> list[str]:
    return sorted(path.name for path in file.path.parent.iterdir() if path != file.path)


def test_what_is_written_is_read_and_nothing_is_left_beside_it(file: RegisterFile) -> None:
    add(file, 3)
    assert numbers(file) == {1, 2, 3}
    assert leftovers(file) == []
    assert file.path.stat().st_mode & 0o777 == 0o600
    assert b"female" not in file.path.read_bytes()


def test_one_that_is_there_is_not_made_again(file: RegisterFile) -> None:
    assert RegisterFile(file.path, KEY).made(empty()).people.keys() == {1, 2}


def test_somebody_elses_writing_is_noticed(file: RegisterFile) -> None:
    assert not file.changed()
    add(RegisterFile(file.path, KEY), 3)
    assert file.changed()
    file.read()
    assert not file.changed()
    file.path.unlink()
    assert file.changed()


def test_writers_beside_each_other_lose_nobody(tmp_path: Path) -> None:
    """Eight threads and two processes add to one register at once."""
    path = tmp_path / "people.register"
    RegisterFile(path, KEY).made(empty())
    program = (
        "import sys; from pathlib import Path; from streamdeid.runs.register_file import RegisterFile;"
        "from tests.registers import KEY; from tests.runs.test_register_file import add;"
        "[add(RegisterFile(Path(sys.argv[1]), KEY), 1) for _ in range(10)]"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])}
    processes = [subprocess.Popen([sys.executable, "-c", program, path], env=environment) for _ in range(2)]
    threads = [threading.Thread(target=lambda: [add(RegisterFile(path, KEY), 1) for _ in range(10)]) for _ in range(8)]
    for thread in threads:
        thread.start()
    for one in threads:
        one.join()
    assert [process.wait() for process in processes] == [0, 0]
    assert numbers(RegisterFile(path, KEY)) == set(range(1, 101))


def test_a_writer_that_is_killed_leaves_a_whole_file_and_no_lock(file: RegisterFile) -> None:
    program = (
        "import sys; from pathlib import Path; from streamdeid.runs.register_file import RegisterFile;"
        "from tests.registers import KEY; from tests.runs.test_register_file import add\n"
        "print('begins', flush=True)\n"
        "while True: add(RegisterFile(Path(sys.argv[1]), KEY), 1)"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])}
    counts = [len(numbers(file))]
    for pause in (0.05, 0.111, 0.2):
        with subprocess.Popen(
            [sys.executable, "-c", program, file.path], env=environment, stdout=subprocess.PIPE
        ) as process:
            assert process.stdout is not None and process.stdout.readline() == b"begins\n"
            time.sleep(pause)
            process.kill()
        add(file, 1)
        counts.append(len(numbers(file)))
    assert counts == sorted(set(counts))


def test_a_writer_who_does_not_let_go_is_not_waited_for_for_ever(file: RegisterFile) -> None:
    with locked(file.path, "taken"), pytest.raises(SettingsError, match="held by another run"), file.opened(0.05):
        raise AssertionError("two had it")
    add(file, 3)


def test_a_lock_is_had_as_soon_as_it_is_free(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    waited: list[float] = []
    held = locked(tmp_path / "x", "taken")
    held.__enter__()

    def pause(seconds: float) -> None:
        waited.append(seconds)
        held.__exit__(None, None, None)

    monkeypatch.setattr(file_lock.time, "sleep", pause)
    with locked(tmp_path / "x", "taken", wait=60):
        assert len(waited) == 1


@pytest.mark.parametrize("where", ["write", "put_in_place", "fsync"])
def test_a_full_disk_leaves_the_old_file(file: RegisterFile, monkeypatch: pytest.MonkeyPatch, where: str) -> None:
    before = file.path.read_bytes()

    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    place: object = {"write": atomic_file.Growing, "put_in_place": atomic_file, "fsync": os}[where]
    with monkeypatch.context() as patched:
        patched.setattr(place, where, full)
        with pytest.raises(OutputError, match="no space left on device") as caught:
            add(file, 3)
    assert "\n" not in str(caught.value)
    assert file.path.read_bytes() == before and leftovers(file) == []
    add(file, 3)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    for path in (Path("/dev/full"), tmp_path):
        with pytest.raises(InputError):
            RegisterFile(path, KEY).read()
    with pytest.raises(OutputError):
        RegisterFile(tmp_path / "nowhere" / "people.register", KEY).made(empty())


@given(st.integers(0, 10**6), st.integers(0, 255), st.sampled_from(["change", "cut", "append"]))
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_file_that_was_changed_is_refused_in_one_line(file: RegisterFile, place: int, value: int, how: str) -> None:
    whole = KIND.encrypted(KEY, encoded(of(1000, 2000)))
    data = bytearray(whole)
    place %= len(data)
    if how == "change":
        data[place] = value if data[place] != value else value ^ 1
    data = data[:place] if how == "cut" else data + bytes([value]) if how == "append" else data
    file.path.write_bytes(data)
    with pytest.raises(StreamdeidError) as caught:
        file.read()
    assert str(file.path) in str(caught.value) and "\n" not in str(caught.value)
    with pytest.raises(StreamdeidError):
        add(file, 3)
    assert file.path.read_bytes() == data  # nothing is written over what cannot be read


@given(st.binary(max_size=400))
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_what_only_the_key_could_write_is_checked_all_the_same(file: RegisterFile, plain: bytes) -> None:
    file.path.write_bytes(KIND.encrypted(KEY, plain))
    with pytest.raises(InputError, match="cannot be understood") as caught:
        file.read()
    assert "\n" not in str(caught.value)


def test_ten_million_people_are_not_read(file: RegisterFile) -> None:
    with file.path.open("r+b") as opened:
        opened.truncate(10_000_000 * 1800)  # with holes: no disk is filled
    with pytest.raises(InputError, match="larger than any register"):
        file.read()


def test_another_key_is_told_from_damage(file: RegisterFile) -> None:
    with pytest.raises(SettingsError, match="another key"):
        RegisterFile(file.path, KEY[::-1]).read()


@pytest.mark.skipif(os.name != "posix", reason="no such permissions")
@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o602])
def test_one_that_others_may_open_is_refused(file: RegisterFile, mode: int) -> None:
    file.path.chmod(mode)
    with pytest.raises(SettingsError, match="chmod 600"):
        file.read()


@pytest.mark.skipif(os.name != "posix", reason="no such permissions")
def test_a_key_that_everybody_may_read_protects_nobody(tmp_path: Path) -> None:
    path = key_file(tmp_path)
    assert private_key(path) == KEY
    path.chmod(0o644)
    with pytest.raises(SettingsError, match="chmod o-r"):
        private_key(path)
    with pytest.raises(SettingsError, match="cannot read key file"):
        private_key(tmp_path / "none")


@pytest.mark.skipif(os.name != "posix", reason="links need rights there")
def test_links_are_not_followed(file: RegisterFile) -> None:
    link = file.path.with_name("link")
    for target in (file.path, file.path.with_name("nothing")):
        link.symlink_to(target)
        for attempt in (lambda one: one.read(), lambda one: one.made(empty()), lambda one: add(one, 3)):
            with pytest.raises(InputError, match="symbolic link"):
                attempt(RegisterFile(link, KEY))
        assert link.is_symlink() and not file.path.with_name("nothing").exists()
        link.unlink()
    assert numbers(file) == {1, 2}


def test_a_register_made_in_another_way_is_refused() -> None:
    known = PeopleRegister({"k": "5", "q": "0.5"}, 30).made_by
    check_made_by(Path("r"), known, {"k": "5", "q": "0.5"})
    with pytest.raises(SettingsError, match=r"r was made with q 0.5, and is asked for with 0.4"):
        check_made_by(Path("r"), known, {"k": "5", "q": "0.4"})

"""`filter --register` and `streamdeid register`: the same face in another run, and people taken out."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from streamdeid.aam.fit import FitModel
from streamdeid.cli.main import main
from streamdeid.runs.register_file import RegisterFile
from streamdeid.service.cameras_file import read_cameras
from streamdeid.settings import Settings
from streamdeid.surrogates.gallery import Gallery
from streamdeid.synthetic.people import synthetic_people
from streamdeid.video.files.drawn_clip import write_drawn_clip
from tests.registers import KEY, empty, key_file, of

pytest.importorskip("cryptography", reason="the extra `register` is not installed")

RATE = 25


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory, fitting: FitModel, gallery: Gallery) -> Path:
    """Two recordings of one drawn person, a key, and a register that a run over the first of them left."""
    place = tmp_path_factory.mktemp("archive")
    drawn = list(synthetic_people(fitting, gallery, people=1, seconds=4.0, size=(320, 240), rate=RATE))
    (place / "in").mkdir()
    for name, part in (("one", drawn[: 2 * RATE]), ("two", drawn[2 * RATE :])):
        write_drawn_clip(place / "in" / f"{name}.mp4", (one.frame.planes for one in part), RATE)
    key_file(place)
    return place


def filtered(archive: Path, name: str, out: Path, *more: str) -> dict[str, Any]:
    """The report of one recording."""
    report = out / "report.json"
    words = ["filter", str(archive / "in" / f"{name}.mp4"), str(out / f"{name}.mp4"), "--quiet", "--overwrite"]
    assert main([*words, "--report", str(report), "--key-file", str(archive / "key"), *more]) == 0
    told = json.loads(report.read_text())
    assert told["choice"]["register_days"] in (30.0, 2.0)
    found: dict[str, Any] = told["files"][0]
    return found


def test_somebody_keeps_the_face_in_another_file_until_taken_out(
    archive: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    register = tmp_path / "people.register"
    named = ("--register", str(register))
    on_it = ["--key-file", str(archive / "key")]
    first = filtered(archive, "one", tmp_path, *named)
    assert first["surrogates"]["added to the register"] == 1 and first["people"] == 1
    face = RegisterFile(register, KEY).read().people[1].surrogate
    second = filtered(archive, "two", tmp_path, *named)
    assert second["surrogates"] == {"from the register": 1} and second["tracks"]["returned"] == 1
    assert second["levels"].get("own face", 0) >= 40
    people = RegisterFile(register, KEY).read().people
    assert people.keys() == {1} and people[1].frames > 24 and people[1].surrogate.tobytes() == face.tobytes()
    capsys.readouterr()
    assert main(["register", "list", str(register), *on_it]) == 0
    told = capsys.readouterr().out.splitlines()
    assert len(told) == 3 and told[1].split()[0] == "1" and "30 days" in told[2]
    assert main(["register", "forget", str(register), *on_it, "1"]) == 0
    assert capsys.readouterr().out == "1 person forgotten, 0 left\n"
    third = filtered(archive, "two", tmp_path, *named, "--register-days", "2")
    assert third["surrogates"]["added to the register"] == 1
    left = RegisterFile(register, KEY).read()
    assert left.people.keys() == {2} and left.days == 2.0


def test_decisions_over_the_whole_file_share_it_with_those_by_look_ahead(archive: Path, tmp_path: Path) -> None:
    named = ("--register", str(tmp_path / "people.register"))
    first = filtered(archive, "one", tmp_path, *named, "--decisions", "whole-file")
    assert first["surrogates"]["added to the register"] == 1 and first["segments"] >= 1
    assert filtered(archive, "two", tmp_path, *named)["surrogates"] == {"from the register": 1}
    again = filtered(archive, "two", tmp_path, *named, "--decisions", "whole-file")
    assert again["surrogates"] == {"from the register": 1}
    assert RegisterFile(tmp_path / "people.register", KEY).read().people.keys() == {1}


def test_workers_share_a_register(archive: Path, tmp_path: Path) -> None:
    register, out = tmp_path / "people.register", tmp_path / "out"
    words = ["filter", str(archive / "in"), str(out), "--quiet", "--workers", "2", "--key-file", str(archive / "key")]
    assert main([*words, "--register", str(register), "--report", str(tmp_path / "r.json")]) == 0
    assert RegisterFile(register, KEY).read().people.keys() == {1}
    counts = [one["surrogates"] for one in json.loads((tmp_path / "r.json").read_text())["files"]]
    assert sum(one.get("added to the register", 0) for one in counts) == 1
    assert len(list(out.iterdir())) == 3  # two results and the journal
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")]


def test_several_files_say_once_what_is_wrong(
    archive: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "r").write_bytes(b"something else")
    (tmp_path / "r").chmod(0o600)
    words = ["filter", str(archive / "in"), str(tmp_path / "out"), "--quiet", "--key-file", str(archive / "key")]
    for workers in ("1", "2"):
        assert main([*words, "--register", str(tmp_path / "r"), "--workers", workers]) == 1
        said = capsys.readouterr().err
        assert said.count("\n") == 1 and "is not a register" in said


def test_a_register_that_fails_leaves_no_output(
    archive: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    register, output = tmp_path / "people.register", tmp_path / "out.mp4"
    register.write_bytes(b"something else")
    register.chmod(0o600)
    words = ["filter", str(archive / "in" / "one.mp4"), str(output), "--quiet", "--register", str(register)]
    assert main([*words, "--key-file", str(archive / "key")]) == 1
    said = capsys.readouterr().err
    assert said.count("\n") == 1 and "is not a register of streamdeid" in said
    assert [path.name for path in tmp_path.iterdir()] == ["people.register"]
    assert register.read_bytes() == b"something else"


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--register", "r"], "needs a key file"),
        (["--register", "r", "--key-file", "k", "--no-reentry"], "re-entry"),
        (["--register", "r", "--key-file", "k", "--method", "k-same-m"], "is for the method k-diff-furthest"),
        (["--register", "r", "--key-file", "k", "--method", "blur"], "is for the method k-diff-furthest"),
        (["--register-days", "3"], "need a register"),
        (["--register", "r", "--key-file", "k", "--register-days", "0"], "register-days must be above 0"),
        (["--register", "r", "--key-file", "KEY", "--analysis", "a"], "do not go together"),
    ],
)
def test_what_does_not_fit_is_said_in_one_line(
    archive: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], more: list[str], said: str
) -> None:
    words = [str(archive / "key") if word == "KEY" else word for word in more]
    assert main(["filter", str(archive / "in" / "one.mp4"), str(tmp_path / "out.mp4"), "--quiet", *words]) == 2
    told = capsys.readouterr().err
    assert said in told and told.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_another_way_of_choosing_faces_needs_another_register(
    archive: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    RegisterFile(tmp_path / "r", KEY).made(empty())
    words = ["filter", str(archive / "in" / "one.mp4"), str(tmp_path / "out.mp4"), "--quiet", "--q", "0.4"]
    assert main([*words, "--register", str(tmp_path / "r"), "--key-file", str(archive / "key")]) == 2
    assert "was made with q None, and is asked for with 0.4" in capsys.readouterr().err
    assert not (tmp_path / "out.mp4").exists()


@pytest.fixture
def small(tmp_path: Path) -> list[str]:
    """Words that name a register of three people, last seen long ago, and its key."""
    RegisterFile(tmp_path / "r", KEY).made(of(10, 20, 30))
    return [str(tmp_path / "r"), "--key-file", str(key_file(tmp_path))]


def test_the_list_tells_numbers_and_times_and_nothing_else(
    small: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["register", "list", *small]) == 0
    assert capsys.readouterr().out.splitlines()[1] == "     1  1970-01-01 00:00:10  1970-01-01 00:00:10"
    assert main(["register", "list", *small, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["people"][2] == {
        "number": 3,
        "first_seen": "1970-01-01 00:00:30",
        "last_seen": "1970-01-01 00:00:30",
    }


def test_numbers_are_forgotten_wherever_they_stand_and_all_or_none(
    small: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    path, *rest = small
    assert main(["register", "forget", path, "1", *rest, "9"]) == 2
    assert "has nobody of number 9; nobody was forgotten" in capsys.readouterr().err
    assert main(["register", "forget", path, "1", *rest, "3"]) == 0
    assert RegisterFile(Path(path), KEY).read().people.keys() == {2}
    assert main(["register", "forget", *small, "--all"]) == 0
    assert RegisterFile(Path(path), KEY).read().people == {}


def test_expire_takes_out_the_old(small: list[str], tmp_path: Path) -> None:
    assert main(["register", "expire", *small, "--days", "30000"]) == 0
    assert len(RegisterFile(tmp_path / "r", KEY).read().people) == 3
    assert main(["register", "expire", *small]) == 0
    assert RegisterFile(tmp_path / "r", KEY).read().people == {}


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["forget"], 2, "say whom to forget"),
        (["forget", "1", "--all"], 2, "say whom to forget"),
        (["forget", "x"], 2, "by number"),
        (["list", "1"], 2, "unrecognized"),
        (["expire", "--days", "0"], 2, "days must be above 0"),
        (["expire", "--days", "nan"], 2, "days must be above 0"),
        (["expire", "--days", "many"], 2, "invalid float"),
    ],
)
def test_wrong_use_is_one_line(
    small: list[str], capsys: pytest.CaptureFixture[str], words: list[str], code: int, said: str
) -> None:
    path, *rest = small
    assert main(["register", words[0], path, *words[1:], *rest]) == code
    told = capsys.readouterr().err
    assert said in told and told.count("\n") == 1
    assert len(RegisterFile(Path(path), KEY).read().people) == 3


def test_nothing_is_made_where_there_is_no_register(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rest = [str(tmp_path / "none"), "--key-file", str(key_file(tmp_path))]
    for action in (["list"], ["forget", "--all"], ["expire"]):
        assert main(["register", *action, *rest]) == 1
        assert "no such file" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["key"]


_CAMERA = """
[defaults]
key_file = "key"
register = "people.register"
register_days = 7
[[camera]]
name = "door"
source = "rtsp://127.0.0.1/door"
output = "rtsp://127.0.0.1:8554/door"
[[camera]]
name = "hall"
source = "rtsp://127.0.0.1/hall"
output = "rtsp://127.0.0.1:8554/hall"
method = "blackout"
"""


def test_cameras_name_a_register_as_any_setting(tmp_path: Path) -> None:
    file, key = tmp_path / "cameras.toml", key_file(tmp_path)
    file.write_text(_CAMERA)
    door, hall = (camera.settings for camera in read_cameras(file).cameras)
    assert door.register == tmp_path / "people.register" and door.days_registered == 7
    assert hall == Settings(method="blackout", lookahead=0.0)  # a mask knows nobody
    if os.name == "posix":
        key.chmod(0o644)
        with pytest.raises(Exception, match=r"camera door: .*a register needs one of your own"):
            read_cameras(file)
    key.chmod(0o600)
    file.write_text(_CAMERA.replace('key_file = "key"', 'key = "house"'))
    with pytest.raises(Exception, match="camera door: a register needs a key file"):
        read_cameras(file)

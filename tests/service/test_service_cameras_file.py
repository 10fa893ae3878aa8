"""The cameras' file: what is refused, with which words, and that no password is among them."""

from __future__ import annotations

import json
from dataclasses import fields
from pathlib import Path

import pytest

from streamdeid.cli.main import main
from streamdeid.errors import SettingsError
from streamdeid.service.camera import FILTER, LIVE, read_camera
from streamdeid.service.cameras_file import CamerasFile, read_cameras
from streamdeid.service.pipe_messages import order_line, read_order
from streamdeid.service.toml_values import most_parts
from streamdeid.settings import Settings
from streamdeid.video.live.settings import LiveSettings

DOOR = '[[camera]]\nname = "door"\nsource = "rtsp://cam/1"\noutput = "rtsp://127.0.0.1:8554/door"\n'


def _read(tmp_path: Path, text: str, **environment: str) -> CamerasFile:
    file = tmp_path / "cameras.toml"
    file.write_text(text, encoding="utf-8")
    file.chmod(0o644)
    return read_cameras(file, environment)


def _refused(tmp_path: Path, text: str, **environment: str) -> str:
    with pytest.raises(SettingsError) as caught:
        _read(tmp_path, text, **environment)
    message = str(caught.value)
    assert "\n" not in message and "geheim" not in message
    assert message.startswith(str(tmp_path / "cameras.toml"))
    return message


def test_every_setting_is_known_or_left_out_on_purpose() -> None:
    files_only = {"tolerant", "audio", "keep_metadata", "decisions"}
    assert {field.name for field in fields(Settings)} == FILTER.keys() | files_only
    always = {"keep_trying", "realtime", "stdout_format"}
    assert {field.name for field in fields(LiveSettings)} == LIVE.keys() | always


def test_a_file_is_read(tmp_path: Path) -> None:
    text = (
        '[http]\nlisten = "[::1]:0"\n[defaults]\nkey = "house"\ncoast = 2\nloop = true\nkeep_files = 3\n'
        + DOOR
        + 'k = 7\nregions = ["0,0,10%,20"]\ntransport = "udp"\n'
        + '[[camera]]\nname = "yard"\nsource = "clips/a.mp4"\noutput = "out/yard.m3u8"\nmethod = "pixelate"\n'
        + '[[camera]]\nname = "hall"\nsource = "/dev/video0"\noutput = "hall.mkv"\nrotate = 60\nkey_file = "key"\n'
        + 'preserve = ["none"]\n'
    )
    (tmp_path / "key").write_bytes(b"k" * 16)
    file = _read(tmp_path, text)
    assert file.http is not None and (file.http.host, file.http.port, file.http.token) == ("::1", 0, None)
    door, yard, hall = file.cameras
    assert (door.settings.k, door.settings.coast, door.group) == (7, 2.0, "house")
    assert door.live.transport == "udp" and door.live.keep_trying and not door.live.realtime and not door.live.loop
    assert str(door.settings.regions[0]) == "0,0,10%,20" and door.settings.lookahead == 0.0
    assert yard.source == str(tmp_path / "clips/a.mp4") and yard.output == str(tmp_path / "out/yard.m3u8")
    assert yard.live.realtime and yard.live.loop and yard.group is None  # a mask has no use for the key
    assert (hall.group, hall.settings.key_file, hall.live.keep_files) == (None, tmp_path / "key", 3)
    assert not hall.live.realtime
    assert (door.settings.preserve, hall.settings.preserve) == (("gender",), ())
    assert yard.settings.overwrite and not hall.settings.overwrite and not door.settings.overwrite


@pytest.mark.parametrize("how", ["rotate = 9", "overwrite = true", "", "playlist"])
def test_a_file_is_not_in_the_way_at_the_next_start(tmp_path: Path, how: str) -> None:
    name = {"": "a-%Y%m%d.mkv", "playlist": "a.m3u8"}.get(how, "a.mkv")
    more = "" if how == "playlist" else how
    camera = _read(tmp_path, DOOR.replace("rtsp://127.0.0.1:8554/door", name) + more).cameras[0]
    assert camera.settings.overwrite == (how in ("overwrite = true", "playlist"))


def test_a_process_reads_the_same_camera(tmp_path: Path) -> None:
    door = _read(tmp_path, DOOR + 'k = 7\nregions = ["1,2,3,4"]\nwhitelist = ["a.png"]\ncrf = 30\n').cameras[0]
    order = read_order(order_line(door, b"\x01" * 32, 17))
    assert order == (door, b"\x01" * 32, 17) and "01" not in repr(order)
    assert read_order(order_line(door, None)) == (door, None, 0)
    long = order_line(door, None, -1)
    for wrong in (b"", b"{}\n", b"[]\n", b'{"camera": {"name": "x"}, "key": null, "sent": 0}\n', long):
        with pytest.raises(SettingsError):
            read_order(wrong)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("metod = 'x'", "unknown setting 'metod'; did you mean method?"),
        ("min-face = 20", "did you mean min_face?"),
        ("keep_trying = true", "unknown setting 'keep_trying'"),
        ("k = true", "k must be a whole number, not true or false"),
        ("k = 2.0", "k must be a whole number, not a number"),
        ("k = 1", "k must be at least 2"),
        ("crf = 99", "crf must be from 0 to 63"),
        ("q = '0.5'", "q must be a number, not a text"),
        ("q = nan", "q must be from 0.1 to 0.6"),
        ("coast = inf", "far too large"),
        ("read_timeout = 0.1", "read-timeout must be from 0.5 to 60"),
        ("repeat = 3", "repeat must be from 0 to 2"),
        ("reentry = 1", "reentry must be true or false"),
        ("preserve = 'gender'", "preserve must be a list"),
        ("preserve = [1]", "preserve, item 1, must be a text"),
        ("preserve = ['none', 'age']", "preserve either none or some"),
        ("regions = ['1,2,3']", "a region is x,y,width,height"),
        ("method = 'smear'", "unknown method 'smear'"),
        ("method = 'blur'\nk = 5", "k means nothing to the method blur"),
        ("method = 'k-same-m'\nq = 0.5", "q means nothing to the method k-same-m"),
        ("key = 'a'\nkey_file = 'b'", "choose key or key_file"),
        ("key_file = 'nowhere'", "cannot read key file"),
        ("loop = true", "loop is for a file"),
        ("keep_files = 2", "keep-files needs rotate"),
        ("codec = 1979-05-27", "codec must be a text in quotes, not a date"),
        ('codec = "a\\u0000"', "printable"),
    ],
)
def test_a_wrong_setting_is_refused_and_names_the_camera(tmp_path: Path, line: str, words: str) -> None:
    message = _refused(tmp_path, DOOR + line + "\n")
    assert "camera door: " in message and words in message


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "there is no camera"),
        ("[[camera]]\n", "camera number 1: a camera needs a name"),
        ("[[camera]]\nname = 'Door 1'\n", "a camera needs a name"),
        ("[[camera]]\nname = 'a'\nsource = 'x'\n", "camera a: output is missing"),
        ("[[camera]]\nname = 'a'\nsource = 'rtsp://u:geheim@'\noutput = 'x'\n", "no address of a camera"),
        ("[[camera]]\nname = 'a'\nsource = 'ftp://u:geheim@h/x'\noutput = 'x'\n", "no address of a camera"),
        ("[[camera]]\nname = 'a'\nsource = 'x'\noutput = 'http://u:geheim@h/x'\n", "no address of an output"),
        ("[[camera]]\nname = 'a'\nsource = 'x'\noutput = '-'\n", "standard output"),
        ("[[camera]]\nname = 'a'\nsource = 'x'\noutput = './x'\n", "the same"),
        ("[[camera]]\nname = 'a'\nsource = 7\noutput = 'x'\n", "source must be a text"),
        ("[[camera]]\nname = 'a'\nsource = 'x'\noutput = 'a.mkv'\n", "in the way at the next start: set rotate"),
        ("camera = 3\n" + "", "there is no camera"),
        ("camera = [3]\n", "camera 1 must be a table"),
        (DOOR + DOOR, "two cameras are named door"),
        (DOOR + DOOR.replace('"door"', '"b"').replace("rtsp://127.0.0.1", "RTSP://u:geheim@127.0.0.1"), "same output"),
        ("defaults = 3\n" + DOOR, "[defaults] must be a table"),
        ("[defaults]\nsource = 'x'\n" + DOOR, "[defaults]: unknown setting 'source'"),
        ("[htp]\n" + DOOR, "did you mean http?"),
        ("[http]\nport = 1\n" + DOOR, "[http]: unknown setting 'port'"),
        ("[http]\nlisten = '8090'\n" + DOOR, "listen is"),
        ("[http]\nlisten = '127.0.0.1:99999'\n" + DOOR, "listen is"),
        ("[http]\nlisten = '0.0.0.0:8090'\n" + DOOR, "needs a token_file"),
        ("[http]\nlisten = 'camera.local:8090'\n" + DOOR, "needs a token_file"),
        ("[http]\ntoken_file = 'nowhere'\n" + DOOR, "cannot read token_file"),
        ("[http]\ntoken_file = 'short'\n" + DOOR, "must have 16 to 1024 characters"),
        ("[http]\ntoken_file = 'spaces'\n" + DOOR, "without spaces"),
        ("name = ", "is no TOML"),
        (DOOR + "\nk = " + "[" * 5000, "is no TOML"),
        (DOOR + "\nk = " + "1" * 5000, "far too large"),
        (".".join("a" * 20_000) + " = 1\n" + DOOR, "has a key of more than 8 parts between dots"),
        (DOOR + "[" + " . ".join(["'a.b'"] * 9) + "]\n", "has a key of more than 8 parts"),
        (DOOR + "note = {" + ".".join(['"a"'] * 9) + " = 1}\n", "has a key of more than 8 parts"),
        (DOOR + "#" * (1 << 18), "is larger than 262144 bytes"),
        ("[http]\nlisten = '127.0.0.1:" + "1" * 5000 + "'\n" + DOOR, "listen is"),
    ],
)
def test_a_wrong_file_is_refused(tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / "short").write_text("a" * 15 + "\n")
    (tmp_path / "spaces").write_text("a" * 15 + " " + "a" * 15)
    assert words in _refused(tmp_path, text)


@pytest.mark.parametrize(
    ("document", "parts"),
    [
        ("a = 1.5", 2),
        ("a . \"b.c\" . 'd.e' = 1", 3),
        ("# a.b.c.d.e", 1),
        ("a = 'x.y.z'", 1),
        ('a = "x\\".y.z"', 1),
        ('a = """\n x.y """""\nb.c = 1', 2),
        ("# don't\na.b.c = 1 # don't", 3),
        ('a = ["""\n#""", {b.c.d.e = 1}]', 4),
        ('a = ["""\n\'""", {b.c.d.e = \'1\'}]', 4),
        ("a = ['''\n\"''', {b.c.d.e = \"1\"}]", 4),
    ],
)
def test_parts_of_keys_are_counted_before_a_file_is_parsed(document: str, parts: int) -> None:
    assert most_parts(document) == parts


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    for path, words in ((tmp_path / "nowhere", "no such file"), (tmp_path, "is a directory")):
        with pytest.raises(SettingsError, match=words):
            read_cameras(path, {})
    (tmp_path / "b").write_bytes(b"\xff\xfe")
    with pytest.raises(SettingsError, match="not UTF-8"):
        read_cameras(tmp_path / "b", {})


def test_the_environment_fills_in_passwords(tmp_path: Path) -> None:
    text = DOOR.replace("rtsp://cam", "rtsp://${DOOR_LOGIN}@cam")
    file = _read(tmp_path, text, DOOR_LOGIN="user:geheim")
    assert file.cameras[0].source == "rtsp://user:geheim@cam/1"
    assert file.variables == {"DOOR_LOGIN"} and file.warnings == ()
    assert "geheim" not in repr(file)
    assert "needs the environment variable DOOR_LOGIN" in _refused(tmp_path, text)
    assert "a variable is written ${NAME}" in _refused(tmp_path, text.replace("LOGIN}", "LOGIN"), DOOR_LOGIN="x")


def test_a_password_in_a_file_that_all_may_read_is_warned_of(tmp_path: Path) -> None:
    file = tmp_path / "cameras.toml"
    for source, secret in (
        ("rtsp://u:geheim@cam/1", True),
        ("http://cam/1?token=geheim", True),
        ("rtsp://u:${P}@cam/1", False),
        ("rtsp://u@cam/1", False),
    ):
        file.write_text(DOOR.replace("rtsp://cam/1", source))
        for mode in (0o644, 0o640):
            file.chmod(mode)
            warnings = read_cameras(file, {"P": "x"}).warnings
            assert len(warnings) == (1 if secret and mode == 0o644 else 0), (source, mode)
            assert "geheim" not in str(warnings)


def test_a_file_from_another_editor_is_read(tmp_path: Path) -> None:
    """With a byte order mark and ends of lines as Windows has them."""
    (tmp_path / "a.toml").write_bytes(b"\xef\xbb\xbf" + DOOR.replace("\n", "\r\n").encode())
    assert [camera.name for camera in read_cameras(tmp_path / "a.toml", {}).cameras] == ["door"]


def test_a_token_that_all_may_read_is_warned_of(tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("geheim-" * 4)
    for mode, count in ((0o644, 1), (0o640, 0)):
        token.chmod(mode)
        warnings = _read(tmp_path, "[http]\ntoken_file = 'token'\n" + DOOR).warnings
        assert len(warnings) == count and "geheim" not in str(warnings)
        assert all(str(token) in line and "a token" in line for line in warnings)


def test_a_token_is_read_and_never_shown(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("geheim-" * 4 + "\n")
    file = _read(tmp_path, "[http]\nlisten = '0.0.0.0:1'\ntoken_file = 'token'\n" + DOOR)
    assert file.http is not None and file.http.token == "geheim-" * 4 and "geheim" not in repr(file)
    assert _read(tmp_path, "[http]\nlisten = 'off'\n" + DOOR).http is None


def test_a_camera_alone_refuses_without_its_password() -> None:
    with pytest.raises(SettingsError) as caught:
        read_camera({"name": "a", "source": "rtsp://u:geheim@h:port/x", "output": "x"})
    assert "geheim" not in str(caught.value)


def test_check_says_what_is_wrong(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "cameras.toml"
    file.write_text(DOOR)
    assert main(["serve", str(file), "--check"]) == 0
    assert capsys.readouterr().out == f"{file}: door\n"
    file.write_text(DOOR + "kk = 3\n")
    assert main(["serve", "--check", str(file)]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1 and "camera door: unknown setting 'kk'" in error


def test_an_order_is_one_line_of_json(tmp_path: Path) -> None:
    line = order_line(_read(tmp_path, DOOR).cameras[0], None)
    assert line.count(b"\n") == 1 and json.loads(line)["camera"]["name"] == "door"

"""Bad input, bad settings and signals: the documented exit code, one line, nothing written, the source untouched."""

from __future__ import annotations

import hashlib
import json
import logging
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from streamdeid.cli.error_text import set_up_logging
from streamdeid.cli.main import main
from streamdeid.core.arrays_file import read_arrays, write_arrays
from streamdeid.core.faces import Face
from streamdeid.core.frames import DeidentifiedFrame, Frame
from streamdeid.core.shipped_models import shipped
from streamdeid.protect.mask_faces import MaskFaces
from streamdeid.protect.pending import PendingFrame
from streamdeid.protect.plan import Plans
from streamdeid.runs import parts as assemble
from streamdeid.runs import whitelist
from tests.report.test_report import check_report
from tests.synthetic_video import encode
from tests.talking_clip import audio_only

DONE, INPUT, SETTINGS, OUTPUT, FAILED = 0, 1, 2, 3, 4


@pytest.fixture(scope="module")
def clip(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The bytes of a small video without faces."""
    return encode(tmp_path_factory.mktemp("clip") / "clip.mp4", frames=12).read_bytes()


@pytest.fixture
def video(tmp_path: Path, clip: bytes) -> Path:
    """That video in a directory of its own."""
    path = tmp_path / "clip.mp4"
    path.write_bytes(clip)
    return path


def complaint(capfd: pytest.CaptureFixture[str], argv: list[str | Path], code: int) -> str:
    """Run a command line that must fail with `code`; its one line on stderr."""
    assert main([str(word) for word in argv]) == code
    captured = capfd.readouterr()
    assert captured.out == ""
    lines = captured.err.splitlines()
    assert len(lines) == 1, captured.err
    assert lines[0].startswith("streamdeid: ")
    assert "Traceback" not in captured.err
    return lines[0]


def missing(path: Path, clip: bytes) -> None:
    """Leave nothing there."""


def empty(path: Path, clip: bytes) -> None:
    """A file without a byte."""
    path.write_bytes(b"")


def text(path: Path, clip: bytes) -> None:
    """A text with the name of a video."""
    path.write_text("This is not a video.\n" * 50)


def headerless(path: Path, clip: bytes) -> None:
    """A video whose first kilobyte is lost."""
    path.write_bytes(clip[1024:])


def sound(path: Path, clip: bytes) -> None:
    """Sound only."""
    audio_only(path)


def truncated(path: Path, clip: bytes) -> None:
    """A video whose end is lost."""
    path.write_bytes(clip[: len(clip) - 800])


@pytest.mark.parametrize("spoil", [missing, empty, text, headerless, sound, truncated])
def test_inputs_that_cannot_be_read(
    spoil: Callable[[Path, bytes], None], tmp_path: Path, clip: bytes, capfd: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "in.mp4"
    spoil(path, clip)
    before = sorted(tmp_path.iterdir())
    assert "in.mp4" in complaint(capfd, ["filter", path, tmp_path / "out.mp4"], INPUT)
    assert sorted(tmp_path.iterdir()) == before


def test_a_directory_as_wrong_input(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "notes.txt").write_text("nothing here")
    (tmp_path / "old_deidentified.mp4").write_bytes(b"an earlier result is no input")
    assert "holds no videos" in complaint(capfd, ["filter", tmp_path], INPUT)
    assert "no file matches" in complaint(capfd, ["filter", f"{tmp_path}/*.avi"], INPUT)


def test_an_address_is_refused_without_its_password(capfd: pytest.CaptureFixture[str]) -> None:
    assert "secret" not in complaint(capfd, ["filter", "rtsp://me:secret@camera/stream"], SETTINGS)


@pytest.mark.parametrize("output", ["nowhere/out.mp4", "/proc/out.mp4", "."])
def test_outputs_that_cannot_be_written(output: str, video: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (video.parent / "clip_deidentified.mp4").mkdir()  # in the way of the default name
    argv: list[str | Path] = ["filter", video] if output == "." else ["filter", video, video.parent / output]
    complaint(capfd, argv, OUTPUT)
    assert sorted(p.name for p in video.parent.iterdir()) == ["clip.mp4", "clip_deidentified.mp4"]


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 64 KiB."""
    place = tmp_path / "disk"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(place)]
    if os.name == "nt" or os.geteuid() != 0 or subprocess.run(mount, check=False, capture_output=True).returncode:
        pytest.skip("mounting a small file system needs root")
    yield place
    subprocess.run(["umount", str(place)], check=True)


def test_a_full_disk(small_disk: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    large = encode(tmp_path / "large.mp4", frames=40, size=(320, 240), options={"crf": "1"})
    complaint(capfd, ["filter", large, small_disk / "out.mp4", "--crf", "1", "--method", "blackout"], OUTPUT)
    assert list(small_disk.iterdir()) == []


def test_the_input_is_never_the_output(video: Path, clip: bytes, capfd: pytest.CaptureFixture[str]) -> None:
    link = video.with_name("link.mp4")
    link.symlink_to(video)
    for output in (video, link):
        assert "input itself" in complaint(capfd, ["filter", video, output, "--overwrite"], SETTINGS)
    assert video.read_bytes() == clip


def test_an_existing_output_is_not_replaced_unasked(video: Path, capfd: pytest.CaptureFixture[str]) -> None:
    existing = video.with_name("out.mp4")
    existing.write_bytes(b"precious")
    assert "--overwrite" in complaint(capfd, ["filter", video, existing], SETTINGS)
    assert existing.read_bytes() == b"precious"


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (["--method", "magic"], "magic"),
        (["--k", "1"], "k must"),
        (["--k", "52"], "from 2 to 51"),
        (["--k", "two"], "two"),
        (["--q", "1.5"], "q must"),
        (["--q", "0.5", "--method", "k-same-m"], "--q"),
        (["--k", "5", "--method", "blur"], "--k"),
        (["--preserve", "gender", "--method", "blackout"], "--preserve"),
        (["--preserve", "gender,mood"], "mood"),
        (["--preserve", "gender,none"], "none or some"),
        (["--k", "45"], "fewer than k"),
        (["--key-file", "/no/such/key"], "key file"),
        (["--transfer", "magic"], "magic"),
        (["--threshold", "0"], "threshold"),
        (["--lookahead", "-1"], "lookahead"),
        (["--codec", "magic"], "magic"),
        (["--codec", "mpeg2video"], "mpeg2video"),
        (["--crf", "99"], "crf"),
        (["--preset", "magic"], "magic"),
        (["--models", "/no/such/models"], "models"),
        (["--bogus"], "--bogus"),
    ],
)
def test_wrong_settings(options: list[str], named: str, video: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert named in complaint(capfd, ["filter", video, video.with_name("o.mp4"), *options], SETTINGS)
    assert [p.name for p in video.parent.iterdir() if p.is_file()] == ["clip.mp4"]


def test_results_that_would_overwrite_each_other(video: Path, capfd: pytest.CaptureFixture[str]) -> None:
    results = video.parent / "results"
    assert "same name" in complaint(capfd, ["filter", video, "-o", results, f"{video.parent}/*.mp4"], SETTINGS)
    assert not results.exists()


@pytest.mark.parametrize("argv", [[], ["fly"], ["filter"], ["compare", "a.mp4"], ["train"]])
def test_wrong_usage(argv: list[str | Path], capfd: pytest.CaptureFixture[str]) -> None:
    complaint(capfd, argv, SETTINGS)


@pytest.fixture
def models(tmp_path: Path) -> Path:
    """A copy of the shipped models that may be spoilt."""
    place = tmp_path / "models"
    place.mkdir()
    for path in shipped().iterdir():
        (place / path.name).symlink_to(path)
    return place


def test_a_gallery_that_was_tampered_with(models: Path, video: Path, capfd: pytest.CaptureFixture[str]) -> None:
    arrays, _ = read_arrays(models / "gallery.npz")
    arrays["identities"] = arrays["identities"] + np.float64(1e-9)
    (models / "gallery.npz").unlink()
    write_arrays(models / "gallery.npz", arrays)  # with a hash of its own that is right
    line = complaint(capfd, ["filter", video, video.with_name("o.mp4"), "--models", models], SETTINGS)
    assert "has been changed" in line


def test_a_model_cut_short(models: Path, video: Path, capfd: pytest.CaptureFixture[str]) -> None:
    whole = (models / "aam.npz").read_bytes()
    (models / "aam.npz").unlink()
    (models / "aam.npz").write_bytes(whole[: len(whole) // 2])
    line = complaint(capfd, ["filter", video, video.with_name("o.mp4"), "--models", models], SETTINGS)
    assert "damaged" in line


def test_what_is_wrong_with_the_models_is_said_once(
    models: Path, video: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (models / "gallery.npz").unlink()
    video.with_name("clop.mp4").write_bytes(video.read_bytes())
    assert "gallery" in complaint(capfd, ["filter", video.parent, "--models", models], SETTINGS)
    assert sorted(p.name for p in video.parent.glob("*.mp4")) == ["clip.mp4", "clop.mp4"]


def test_models_without_their_hashes(models: Path, video: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (models / "SHA256").unlink()
    line = complaint(capfd, ["filter", video, video.with_name("o.mp4"), "--models", models], SETTINGS)
    assert "SHA256" in line


def test_a_key_that_is_too_short(video: Path, capfd: pytest.CaptureFixture[str]) -> None:
    key = video.with_name("key")
    key.write_bytes(b"hunter2")
    line = complaint(capfd, ["filter", video, "-o", video.with_name("o.mp4"), "--key-file", key], SETTINGS)
    assert "hunter2" not in line


class Detector:
    """A detector that finds nothing, or breaks."""

    def __init__(self, error: Exception | None = None) -> None:
        self.error = error

    def __call__(self, frame: Frame) -> list[Face]:
        if self.error is not None:
            raise self.error
        return []

    def close(self) -> None:
        """Nothing to stop."""


@pytest.mark.parametrize(
    ("detector", "named"),
    [
        (Detector(), "self-test failed"),
        (Detector(RuntimeError("graph\nbroke")), "the detector failed on frame 0: RuntimeError"),
    ],
)
def test_a_filter_that_is_not_proven_withholds_everything(
    detector: Detector,
    named: str,
    video: Path,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(assemble, "default_detector", lambda _, **__: detector)
    assert named in complaint(capfd, ["filter", video, video.with_name("o.mp4")], FAILED)
    assert [p.name for p in video.parent.iterdir()] == ["clip.mp4"]


def test_an_unexpected_error_in_mid_run_withholds_everything(
    video: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    class Broken(MaskFaces):
        def render(self, pending: PendingFrame[Any], plans: Plans) -> DeidentifiedFrame:
            if pending.frame.index == 5:
                raise ZeroDivisionError("two\nlines")
            return super().render(pending, plans)

    monkeypatch.setattr(whitelist, "MaskFaces", Broken)
    line = complaint(capfd, ["filter", video, video.with_name("o.mp4"), "--method", "blur"], FAILED)
    assert "failed closed" in line
    assert "ZeroDivisionError: two lines" in line
    assert [p.name for p in video.parent.iterdir()] == ["clip.mp4"]


def test_debug_shows_the_traceback(video: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["filter", str(video), str(video.with_name("o.mp4")), "--k", "1", "--debug"]) == SETTINGS
    lines = capfd.readouterr().err.splitlines()
    assert lines[0].startswith("Traceback")
    assert lines[-1].startswith("streamdeid: ")


def test_one_bad_file_does_not_stop_the_others(video: Path, capfd: pytest.CaptureFixture[str]) -> None:
    bad = video.with_name("bad.mp4")
    bad.write_text("no video")
    report = video.with_name("report.json")
    argv = ["filter", str(video.parent), "--method", "blackout", "--json", "--report", str(report)]
    assert main(argv) == INPUT
    captured = capfd.readouterr()
    assert len(captured.err.splitlines()) == 1
    results = [json.loads(line) for line in captured.out.splitlines()]
    assert [result.get("exit_code", 0) for result in results] == [INPUT, DONE]
    assert video.with_name("clip_deidentified.mp4").is_file()
    assert not video.with_name("bad_deidentified.mp4").exists()
    written = json.loads(report.read_text(encoding="utf-8"))
    check_report(written)
    assert [failure["input"] for failure in written["failures"]] == ["bad.mp4"]
    assert str(video.parent) not in json.dumps(written["files"])


@pytest.fixture(scope="module")
def long_video(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A video that takes a while."""
    return encode(
        tmp_path_factory.mktemp("long") / "long.mp4", frames=500, size=(320, 240), options={"preset": "ultrafast"}
    )


@pytest.mark.parametrize(
    ("number", "code", "while_running"),
    [(signal.SIGINT, 130, True), (signal.SIGTERM, 143, True), (signal.SIGTERM, 143, False)],
)
def test_signals_leave_nothing_behind(number: signal.Signals, code: int, while_running: bool, long_video: Path) -> None:
    before = hashlib.sha256(long_video.read_bytes()).hexdigest()
    command = [
        sys.executable,
        "-c",
        "from streamdeid.cli.main import run; run()",
        "filter",
        str(long_video),
        "--crf",
        "1",
    ]
    process = subprocess.Popen(
        command,
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        # A job that a shell put into the background is deaf to SIGINT, and so would be its children.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    until = time.monotonic() + 60
    started = 20_000 if while_running else 0
    while time.monotonic() < until and process.poll() is None:
        partial = [path for path in long_video.parent.iterdir() if path != long_video]
        if partial and partial[0].stat().st_size >= started:
            break
        time.sleep(0.02)
    for _ in range(4):  # an impatient user; clearing up is not to be interrupted
        process.send_signal(number)
        time.sleep(0.01)
    out, err = process.communicate(timeout=30)
    assert process.returncode == code
    assert out == ""
    assert len(err.splitlines()) == 1, err
    assert err.startswith("streamdeid: stopped")
    assert [path.name for path in long_video.parent.iterdir()] == ["long.mp4"]
    assert hashlib.sha256(long_video.read_bytes()).hexdigest() == before


URL = "rtsp://me:ge heim@camera/stream?token=geheim"


def test_no_error_shows_a_password(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(arguments: object) -> int:
        logging.getLogger("streamdeid.video").warning("opening %s", URL)
        try:
            raise OSError(f"no route to {URL}")
        except OSError as error:
            logging.getLogger("streamdeid.video").exception("lost %s", URL, stack_info=True)
            raise ValueError(f"[Errno 5] {URL}", URL) from error

    monkeypatch.setattr("streamdeid.cli.audit.run", broken)
    for debug in ([], ["--debug"]):
        assert main(["audit", "report.json", *debug]) == FAILED
        err = capfd.readouterr().err
        assert "heim" not in err, err
        assert "rtsp://***@camera/stream" in err
        assert ("opening rtsp://***@camera" in err and err.count("Traceback") >= 2) is bool(debug)


def test_a_log_line_whose_arguments_do_not_fit(capfd: pytest.CaptureFixture[str]) -> None:
    set_up_logging(True)
    logging.getLogger("streamdeid").warning("%d at %s", URL)
    set_up_logging(False)
    assert "heim" not in capfd.readouterr().err


@pytest.mark.skipif(not Path("/proc/self/cmdline").exists(), reason="needs Linux's /proc")
def test_nobody_reads_a_password_in_the_list_of_processes() -> None:
    code = (
        "import threading, time\n"
        "from streamdeid.cli import main\n"
        "def broken(): raise OSError(main.sys.argv[2])\n"
        "def stay():\n"
        "    thread = threading.Thread(target=broken); thread.start(); thread.join()\n"
        "    print(flush=True)\n"
        "    time.sleep(60)\n"
        "main.main = stay\n"
        "main.run()\n"
    )
    command = [sys.executable, "-c", code, "filter", URL, "out put.mp4"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            process.stdout.readline()
            title = Path(f"/proc/{process.pid}/cmdline").read_bytes()
        finally:
            process.kill()
        _, err = process.communicate()
    assert b"heim" not in title
    assert b"filter 'rtsp://***@camera/stream?token=***' 'out put.mp4'" in title
    assert "OSError: rtsp://***@camera" in err and "heim" not in err

"""Processes of a run: none runs what lies in the directory that it was started in, and none leaves a core file."""

from __future__ import annotations

import ast
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

import streamdeid
from streamdeid.aam.fit import FitModel
from streamdeid.cli import review
from streamdeid.core.child_process import child_command, child_environment
from streamdeid.review.opening import Files
from streamdeid.runs import files
from streamdeid.runs.files import filter_file
from streamdeid.runs.segments import run
from streamdeid.service import lease
from streamdeid.service.camera import read_camera
from streamdeid.service.placed_order import placed_order
from streamdeid.service.relay import CameraRelay
from streamdeid.settings import Settings
from streamdeid.surrogates.gallery import Gallery
from tests.drawn_recordings import draw_recordings
from tests.synthetic_video import encode

posix = pytest.mark.skipif(os.name == "nt", reason="POSIX processes and limits")
ROOT = Path(__file__).parents[2]
PROGRAM = Path(sys.executable).with_name("streamdeid")

# Every module that is asked for by a process lies in the current directory a moment before it is looked for, whatever
# its name, and says that it was run.
_BAIT = """
import os, sys

place, marks = os.environ["BAIT"], os.environ["MARKS"]

class Bait:
    def find_spec(self, name, path=None, target=None):
        with open(os.path.join(marks, "asked"), "a") as told:
            told.write(name + "\\\\n")
        if path is None and not os.path.exists(os.path.join(place, name + ".py")):
            with open(os.path.join(place, name + ".py"), "w") as file:
                file.write(f"open({os.path.join(marks, 'run-' + name)!r}, 'w').close()\\\\nraise ImportError\\\\n")
        if path is None:
            sys.path_importer_cache.pop(place, None)  # it remembers what lay there
        return None

sys.meta_path.insert(0, Bait())
""".replace("\\\\n", "\\n")


class Trap:
    """A directory of recordings that brings code along."""

    def __init__(self, place: Path) -> None:
        self.here, self._marks, code = place / "here", place / "marks", place / "code"
        for each in (self.here, self._marks, code):
            each.mkdir()
        (code / "sitecustomize.py").write_text(_BAIT)
        plugin = self.here / "evil-1.0.dist-info"
        plugin.mkdir()
        (plugin / "METADATA").write_text("Name: evil\nVersion: 1.0\n")
        (plugin / "entry_points.txt").write_text("[streamdeid.commands]\nfilter = evil_command\n")
        self.environment = {"BAIT": str(self.here), "MARKS": str(self._marks), "PYTHONPATH": str(code)}

    def asked(self) -> set[str]:
        """Modules that processes looked for."""
        file = self._marks / "asked"
        return set(file.read_text().split()) if file.exists() else set()

    def run(self) -> list[str]:
        """Those of them that came from here."""
        return sorted(one.name for one in self._marks.glob("run-*"))


@pytest.fixture
def trap(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fitting: FitModel, gallery: Gallery) -> Trap:
    """Current directory and environment are the trap's; recordings lie in it."""
    made = Trap(tmp_path)
    draw_recordings(made.here, 2, 3, fitting, gallery)
    for name, value in made.environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(made.here)
    return made


def recordings(trap: Trap) -> list[Path]:
    """What lies in the trap to be filtered."""
    return sorted((trap.here / "in").iterdir())


def _segments(trap: Trap, monkeypatch: pytest.MonkeyPatch) -> None:
    keys = {"g": "20", "keyint_min": "20", "sc_threshold": "0", "bf": "0"}
    encode(trap.here / "long.mp4", frames=40, size=(160, 120), options=keys)
    monkeypatch.setattr(files, "filter_segments", partial(run.filter_segments, length=0.75))
    report = filter_file(trap.here / "long.mp4", trap.here / "out.mp4", Settings(decisions="whole-file"), workers=2)
    assert report.segments == 2


def _review(trap: Trap, monkeypatch: pytest.MonkeyPatch) -> None:
    paths = (trap.here / name for name in ("out.mp4", "a.analysis", "a.edits.json"))
    assert review._filter(Files(recordings(trap)[0], *paths), None, Settings().most_pixels) == 0


def _camera(trap: Trap, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the encoder that it starts."""
    output = trap.here / "out.mkv"
    given = {"name": "a", "source": str(recordings(trap)[0]), "output": str(output), "overwrite": True, "loop": True}
    monkeypatch.setattr(lease, "LEASE", 600.0)  # a busy machine takes longer than the lease to begin
    relay = CameraRelay()
    assert relay.hello() and relay.start(placed_order(read_camera(given), None)) is None
    closed, said = False, b""
    # Played again and again: a busy machine is too late for the few pictures of one time.
    while not closed and not (output.exists() and output.stat().st_size):
        _, complaint, closed = relay.exchange(b"", 0.5)
        said += complaint
    code, last = relay.end(0.0, 10.0)
    assert output.exists(), f"the encoder did not work: {code}, {(said + last[1]).decode()}"


def _program(trap: Trap, monkeypatch: pytest.MonkeyPatch) -> None:
    """As it is installed, with workers of its own."""
    words = ["filter", *map(str, recordings(trap)), "-o", "out", "--workers", "2", "--quiet"]
    assert subprocess.run([PROGRAM, *words], check=False).returncode == 0
    assert len(list((trap.here / "out").glob("*_deidentified.mp4"))) == 2


@posix
@pytest.mark.parametrize("started", [_segments, _review, _camera, _program])
def test_what_lies_in_the_current_directory_is_not_run(
    trap: Trap, monkeypatch: pytest.MonkeyPatch, started: Callable[[Trap, pytest.MonkeyPatch], None]
) -> None:
    started(trap, monkeypatch)
    assert trap.asked() >= {"streamdeid", "streamdeid.core.frames", "signal"}, "the trap was set"
    assert trap.run() == []
    subprocess.run([sys.executable, "-c", "import base64"], check=False, capture_output=True)
    assert trap.run() == ["run-base64"], "Python by itself would run it"


def test_of_pythonpath_only_absolute_places_reach_a_process(tmp_path: Path) -> None:
    """An empty one is the current directory."""
    one, other = str(tmp_path / "a"), str(tmp_path / "b")
    given = {"PYTHONPATH": os.pathsep.join(["", one, ".", "sub", other]), "MINE": "1"}
    kept = {"PYTHONPATH": os.pathsep.join([one, other]), "MINE": "1"}
    assert child_environment(given) == {**kept, "PYTHONSAFEPATH": "1", "OPENBLAS_NUM_THREADS": "1"}
    assert "PYTHONPATH" not in child_environment({"PYTHONPATH": "."})
    assert child_environment({"OPENBLAS_NUM_THREADS": "3"})["OPENBLAS_NUM_THREADS"] == "3"


def test_what_python_3_10_does_not_know_is_not_relied_on(tmp_path: Path) -> None:
    """PYTHONSAFEPATH is from 3.11 on: the same holds without it."""
    (tmp_path / "base64.py").write_text("print('run')\n")
    python, option, program = child_command("base64:b64encode")
    known = {name: value for name, value in child_environment().items() if name != "PYTHONSAFEPATH"}
    said = []
    for code in (program.rpartition("from streamdeid")[0] + "import base64", "import base64"):
        done = subprocess.run(
            [python, option, code], cwd=tmp_path, env=known, capture_output=True, text=True, check=True
        )
        said.append(done.stdout)
    assert said == ["", "run\n"]


def test_processes_are_started_in_one_way_only() -> None:
    """Nobody else names the interpreter."""
    home = Path(streamdeid.__file__).parent
    naming = [
        path.relative_to(home).as_posix()
        for path in sorted(home.rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Attribute) and node.attr == "executable"
    ]
    assert naming == ["core/child_process.py"]
    assert not [path for path in home.rglob("*.py") if "multiprocessing" in path.read_text(encoding="utf-8")]


_LIMIT = "import resource; print(resource.getrlimit(resource.RLIMIT_CORE))"


_ABORTS = """
import os, resource

resource.setrlimit(resource.RLIMIT_CORE, ({hard}, {hard}))  # as a user may have it who wants core files
from streamdeid.cli.main import run
from streamdeid.runs.files import FileRun

def aborts(*given, **named):
    print(resource.getrlimit(resource.RLIMIT_CORE), flush=True)
    os.abort()

FileRun.filter = aborts
run()
"""


@posix
def test_a_filter_that_dies_by_a_fault_leaves_no_core_file(tmp_path: Path) -> None:
    import resource

    hard = resource.getrlimit(resource.RLIMIT_CORE)[1]
    if hard == 0:
        pytest.skip("core files are switched off on this machine")
    code = _ABORTS.replace("{hard}", str(hard))
    encode(tmp_path / "in.mp4", frames=2)
    words = ["filter", "in.mp4", "-o", "out.mp4"]
    done = subprocess.run([sys.executable, "-c", code, *words], cwd=tmp_path, capture_output=True, check=False)
    assert done.returncode == -signal.SIGABRT and done.stdout == b"(0, 0)\n", done.stderr
    assert not list(tmp_path.glob("core*"))


@posix
def test_the_library_changes_its_host_when_asked_and_its_own_processes_always() -> None:
    def limits(code: str) -> str:
        return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout

    assert limits(f"import streamdeid; streamdeid.Filter; {_LIMIT}") == limits(_LIMIT)
    assert limits(f"import streamdeid; streamdeid.no_core_files(); {_LIMIT}") == "(0, 0)\n"
    known = child_environment({**os.environ, "PYTHONPATH": str(ROOT)})
    started = subprocess.run(
        child_command("tests.runs.test_child_processes:told_limit"), env=known, capture_output=True
    )
    assert started.stdout == b"(0, 0)\n"


def told_limit() -> None:
    """A process of the library says what its limit is."""
    import resource

    print(resource.getrlimit(resource.RLIMIT_CORE))

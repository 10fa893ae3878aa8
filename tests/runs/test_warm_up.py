"""After a warm-up nothing is compiled any more, also where nothing can be written."""

from __future__ import annotations

import importlib
import importlib.util
import json
import os
import py_compile
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import pytest

import streamdeid
from streamdeid.aam.fit import FitModel
from streamdeid.core import bytecode, kernel_cache
from streamdeid.core.kernel_cache import KernelCache, caches, copy_entries
from streamdeid.core.shipped_models import shipped
from streamdeid.runs import warm_up as warming
from streamdeid.surrogates.gallery import Gallery
from tests.talking_clip import talking_clip

PACKAGE = Path(streamdeid.__file__).parent
LEAST_USED = 20
"""Kernels that a run with a face needs, at least: far fewer would mean that they were not counted."""
REAL_USE = [
    [],
    ["--eyes", "original"],
    ["--transfer", "paper", "--method", "k-same-furthest"],
    ["--method", "k-same-m"],
    ["--method", "k-diff-furthest-paper"],
    ["--method", "blur"],
]
REAL_RUN = """
import json, sys
from streamdeid.cli.main import main
from streamdeid.core.kernel_cache import caches
clip, out, real_use = sys.argv[1:]
for options in json.loads(real_use):
    assert main(["filter", clip, out, "--overwrite", "--quiet", *options]) == 0
print(sum(each.compiled for each in caches()), sum(len(each.found) for each in caches()))
"""


@dataclass(frozen=True)
class Installed:
    """A copy of the package whose kernels were compiled by `streamdeid warmup` when it lay elsewhere."""

    site: Path
    second: Path
    """What `--cache` filled."""
    output: str

    def run(self, code: str, *words: str | Path, before: Sequence[str | Path] = (), **environment: str) -> str:
        """Run code with this copy; its output."""
        home = self.site.parent / "home"
        clean = {name: value for name, value in os.environ.items() if not name.startswith(("NUMBA_", "XDG_"))}
        own = {"HOME": str(home), "PYTHONPATH": str(self.site), "PYTHONPYCACHEPREFIX": str(self.site.parent / "pyc")}
        command = [*before, sys.executable, "-c", code, *words]
        done = subprocess.run(
            command, env=clean | own | environment, cwd=self.site, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """It is moved and all its dates are changed after the warm-up, as builders of images do."""
    built = tmp_path_factory.mktemp("built")
    shutil.copytree(PACKAGE, built / "site" / "streamdeid", ignore=shutil.ignore_patterns("__pycache__", "models"))
    (built / "site" / "streamdeid" / "models").symlink_to(shipped())
    code = "from streamdeid.cli.main import run; run()"
    output = Installed(built / "site", built / "second", "").run(code, "warmup", "--cache", built / "second")
    target = tmp_path_factory.mktemp("target") / "image"
    (built / "home").mkdir(exist_ok=True)
    built.rename(target)
    for path in (target / "site" / "streamdeid").rglob("*.py"):
        os.utime(path, (0, 315532800))
    return Installed(target / "site", target / "second", output)


@pytest.fixture(scope="module")
def clip(tmp_path_factory: pytest.TempPathFactory, fitting: FitModel, gallery: Gallery) -> Path:
    """A clip of one talking face."""
    path = tmp_path_factory.mktemp("clip") / "talk.mp4"
    talking_clip(path, fitting, gallery, seconds=0.2)
    return path


def kernels(directory: Path) -> set[Path]:
    """The files of compiled kernels below a directory, by path."""
    return set(directory.rglob("*.kernel"))


def test_the_command_says_what_it_did(installed: Installed) -> None:
    count = len(kernels(installed.site))
    assert count > LEAST_USED
    assert f"{count} kernels in " in installed.output
    # One that a process beside this one kept as part of another may be found instead.
    compiled = int(installed.output.split(" compiled")[0].rsplit(", ", 1)[1])
    assert LEAST_USED < compiled <= count
    assert str(Path("streamdeid") / "aam" / "__pycache__") in installed.output and "second" in installed.output
    assert len(kernels(installed.second)) == count


def test_a_real_run_after_it_compiles_nothing(installed: Installed, clip: Path, tmp_path: Path) -> None:
    before = kernels(installed.site.parent)
    compiled, found = installed.run(REAL_RUN, clip, tmp_path / "out.mp4", json.dumps(REAL_USE)).split()
    assert compiled == "0" and int(found) > LEAST_USED
    assert kernels(installed.site.parent) == before


POSED = """
from fractions import Fraction
import numpy as np
from streamdeid.core.frames import Planes
from streamdeid.core.kernel_cache import caches
from streamdeid.observe.keypoint_pose import KeypointPose
from streamdeid.observe.turned_view import Gesture
from streamdeid.render.background import Background
from streamdeid.render.light import LightFrame
from streamdeid.render.new_face import NewFace
from streamdeid.render.posed_face import PosedFrame, PosedHead, PosedMemory, render_posed_face
from streamdeid.render.posed_region import face_ellipse
from streamdeid.surrogates.models import load_models
fitting = load_models(None).fitting
face = NewFace.photographed(np.zeros(len(fitting.model.variances)), fitting)
frame = PosedFrame.of(fitting, LightFrame.of(fitting))
rng, background = np.random.default_rng(1), Background()
wall = Planes(*(rng.integers(90, 93, shape, dtype=np.uint8) for shape in ((141, 181), (71, 91), (71, 91))))
for number in range(6):
    background.begin(wall, Fraction(number, 3))
    background.note(wall, [])
for size, yaw in ((12.0, 0.3), (40.0, -0.9), (60.0, 1.3)):
    head = PosedHead(KeypointPose(90.0, 70.0, size, yaw, 0.1, 0.2), face_ellipse((70.0, 40.0, 110.0, 100.0)))
    for gesture in (head.gesture, Gesture(0.3, 2.0, 0.1, 1.0, (0.4, 0.9), (1.0, 0.0))):
        shown = PosedHead(head.pose, head.ellipse, gesture)
        out, memory = wall.copy(), PosedMemory()
        assert render_posed_face(out, wall, shown, face, frame, memory, background=background) is not None
print(sum(each.compiled for each in caches()), sum(len(each.found) for each in caches()))
"""


def test_a_posed_face_compiles_nothing_after_it(installed: Installed) -> None:
    """In a live stream the frames that came meanwhile were lost."""
    compiled, found = installed.run(POSED).split()
    assert compiled == "0" and int(found) >= LEAST_USED


ONE_FRAME = """
import numpy as np, sys
from streamdeid import Filter
from streamdeid.core.kernel_cache import caches
with Filter() as filter:
    filter(np.zeros((240, 320, 3), np.uint8))  # the self-test draws a face
print(sum(each.compiled for each in caches()), sum(len(each.found) for each in caches()))
"""


@pytest.fixture
def read_only(installed: Installed) -> Sequence[str]:
    """The head of a command that runs with the whole installation and its home mounted read-only."""
    place = installed.site.parent
    script = f'mount --bind "{place}" "{place}" && mount -o remount,ro,bind "{place}" && exec "$@"'
    head = ["unshare", "--mount", "sh", "-c", script, "sh"]
    if shutil.which("unshare") is None or subprocess.run([*head, "true"], check=False, capture_output=True).returncode:
        pytest.skip("mounting read-only needs root")
    return head


def test_a_read_only_image_compiles_nothing(installed: Installed, read_only: Sequence[str]) -> None:
    with_probe = (
        f"import os\ntry: os.mkdir({str(installed.site / 'x')!r})\nexcept OSError: pass\nelse: raise SystemExit(9)\n"
    )
    compiled, found = installed.run(with_probe + ONE_FRAME, before=read_only).split()
    assert compiled == "0" and int(found) > LEAST_USED


def test_a_read_only_cache_of_its_own(installed: Installed, read_only: Sequence[str], tmp_path: Path) -> None:
    bare = tmp_path / "site"
    shutil.copytree(installed.site, bare, symlinks=True, ignore=shutil.ignore_patterns("*.kernel"))
    said = installed.run(ONE_FRAME, before=read_only, NUMBA_CACHE_DIR=str(installed.second), PYTHONPATH=str(bare))
    compiled, found = said.split()
    assert compiled == "0" and int(found) > LEAST_USED and not kernels(bare)


SOURCE = "from streamdeid.core.kernel_cache import kernel\n\n\n@kernel\ndef twice(x):\n    return 2 * x\n"


@pytest.fixture(autouse=True)
def away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No test here touches the user's own cache, or leaves a kernel in the list."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    monkeypatch.setattr(kernel_cache, "_CACHES", [])


def loaded(path: Path) -> ModuleType:
    """A module with one kernel, imported as a fresh process would."""
    spec = importlib.util.spec_from_file_location("doubling", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def used(path: Path, value: float = 2) -> KernelCache:
    """The cache of that kernel after a call."""
    assert loaded(path).twice(value) == 2 * value
    return caches()[-1]


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """The file of such a module."""
    path = tmp_path / "package" / "doubling.py"
    path.parent.mkdir()
    path.write_text(SOURCE)
    return path


def test_a_kernel_is_compiled_once(source: Path, tmp_path: Path) -> None:
    first = used(source)
    assert (first.compiled, len(first.stored), len(first.found)) == (1, 1, 0)
    assert first.stored[0].parent == source.parent / "__pycache__"
    os.utime(source, (0, 0))
    again = used(source)
    assert (again.compiled, again.found) == (0, first.stored)
    assert used(source, 2.5).compiled == 1  # another signature
    source.write_text(SOURCE.replace("2 * x", "x + x"))
    assert used(source).compiled == 1
    assert not (tmp_path / "home").exists()


CALLING = """from streamdeid.core.kernel_cache import kernel
from {parts}.called import CONSTANTS, added
from {parts}.called import AMOUNT as MOST


@kernel
def summed(x):
    return added(x) + MOST + sum([CONSTANTS[1] for _ in range(1)])
"""
CALLED = """from streamdeid.core.kernel_cache import kernel
from {parts}.constants import AMOUNT, CONSTANTS


@kernel
def added(x):
    return x + 1 + deeper(x)


@kernel
def deeper(x):
    return 0 if x > 100 else deeper(x + 1000)
"""
CONSTANTS = "import numpy as np\n\nAMOUNT = 10\nCONSTANTS = np.array([0.0, 100.0])\n"


@pytest.mark.parametrize(
    ("file", "old", "new", "result"),
    [
        ("called", "x + 1 +", "x + 2 +", 113),
        ("called", "0 if", "1000 if", 1112),
        ("constants", "AMOUNT = 10", "AMOUNT = 20", 122),
        ("constants", "100.0", "200.0", 212),
        ("calling", "+ MOST", "- MOST", 92),
    ],
)
def test_what_a_kernel_takes_from_other_files_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, file: str, old: str, new: str, result: int
) -> None:
    """numba compiles the code of a kernel that is called, and the value of a constant, into the one that names it."""
    parts = f"parts_{tmp_path.name}"
    place = tmp_path / parts
    place.mkdir()
    given = {"calling": CALLING, "called": CALLED, "constants": CONSTANTS}
    for name, text in given.items():
        (place / f"{name}.py").write_text(text.format(parts=parts))
    monkeypatch.syspath_prepend(tmp_path)
    assert _summed(parts) == (112, 3) and _summed(parts) == (112, 0)
    path = place / f"{file}.py"
    path.write_text(path.read_text().replace(old, new))
    for stale in (place / "__pycache__").glob("*.pyc"):  # Python looks at dates, and these files are of one second
        stale.unlink()
    assert _summed(parts)[0] == result
    assert _summed(parts) == (result, 0)


def test_every_kernel_can_be_kept() -> None:
    found = 0
    for path in PACKAGE.rglob("*.py"):
        if "import kernel" in path.read_text(encoding="utf-8"):
            name = ".".join(("streamdeid", *path.relative_to(PACKAGE).with_suffix("").parts))
            for one in vars(importlib.import_module(name)).values():
                if isinstance(cache := getattr(one, "_cache", None), KernelCache):
                    assert cache.stamp(), one
                    found += 1
    assert found > 50


def test_a_kernel_that_names_what_is_no_constant_is_not_kept(source: Path) -> None:
    """A dictionary cannot be told from another by numba; here its kernel is never called."""
    source.write_text(SOURCE.replace("2 * x", "KNOWN[x]").replace("\n\n\n@", "\n\nKNOWN = {}\n\n\n@"))
    assert loaded(source).twice._cache.stamp() == ""
    source.write_text(SOURCE)
    assert loaded(source).twice._cache.stamp() != ""


def _summed(parts: str) -> tuple[float, int]:
    """What the kernel makes of 1 in modules that are imported anew, and how much was compiled."""
    for name in [name for name in sys.modules if name.partition(".")[0] == parts]:
        del sys.modules[name]
    importlib.invalidate_caches()
    known = len(caches())
    result = float(importlib.import_module(f"{parts}.calling").summed(1))
    return result, sum(one.compiled for one in caches()[known:])


def test_a_damaged_kernel_is_compiled_again(source: Path) -> None:
    path = used(source).stored[0]
    whole = path.read_bytes()
    first, last = bytes([whole[0] ^ 1]), bytes([whole[-1] ^ 1])  # a letter would be the right one once in 256 digests
    for spoilt in (b"", whole[:-1], whole[:40], first + whole[1:], whole[:-1] + last):
        path.write_bytes(spoilt)
        assert used(source).compiled == 1
        assert used(source).compiled == 0


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="files have no owners")
def test_a_kernel_that_somebody_else_may_have_written_is_not_run(source: Path) -> None:
    """An entry is a pickle: it runs whatever its writer wanted."""
    path = used(source).stored[0]
    assert used(source).compiled == 0
    path.chmod(0o646)
    assert used(source).compiled == 1
    if os.geteuid() == 0:
        os.chown(path, 12345, -1)
        assert used(source).compiled == 1
        os.chown(path, 12345, -1)
        os.chown(source, 12345, -1)  # who wrote the source is trusted anyway
        assert used(source).compiled == 0


def test_a_kernel_that_cannot_be_kept_runs(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(_: object) -> bytes:
        raise TypeError

    monkeypatch.setattr(kernel_cache, "dumps", fails)
    assert (used(source).compiled, used(source).stored) == (1, [])


def test_a_kernel_under_a_wrong_name_is_not_run(source: Path) -> None:
    whole, fraction = used(source, 2).stored[0], used(source, 2.5).stored[0]
    fraction.write_bytes(whole.read_bytes())
    assert used(source, 2.5).compiled == 1


def test_another_processor_compiles_for_itself(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    used(source)
    other = "other" if not hasattr(os, "uname") else os.uname().machine + "-other"
    codegen = type(loaded(source).twice.targetctx.codegen())
    monkeypatch.setattr(codegen, "magic_tuple", lambda self: (other, "cpu", "features"))
    assert used(source).compiled == 1
    assert used(source).compiled == 0


def test_where_nothing_can_be_written_kernels_still_run(source: Path, tmp_path: Path) -> None:
    (source.parent / "__pycache__").write_text("a file in the way")
    (tmp_path / "home").write_text("another")
    cache = used(source)
    assert (cache.compiled, cache.stored) == (1, [])
    with pytest.raises(OSError, match="cannot be written"):
        copy_entries(tmp_path / "home")
    assert copy_entries(tmp_path / "elsewhere") == 1


def test_the_users_cache_is_the_last_resort(source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (source.parent / "__pycache__").write_text("a file in the way")
    assert used(source).stored[0].parent == tmp_path / "home" / "streamdeid"
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "chosen"))
    assert used(source).compiled == 0
    assert used(source, 2.5).stored[0].parent == tmp_path / "chosen" / "streamdeid"


def test_code_without_a_source_file_runs() -> None:
    names: dict[str, object] = {"__name__": "nowhere"}
    exec(compile(SOURCE, "<nowhere>", "exec"), names)
    assert names["twice"](4) == 8  # type: ignore[operator]
    assert caches()[-1].compiled == 1 and caches()[-1].stored == []


def test_bytecode_survives_new_dates(tmp_path: Path) -> None:
    source = tmp_path / "module.py"
    source.write_text("x = 1\n")
    assert bytecode._written(source) is True
    os.utime(source, (0, 0))
    assert bytecode._written(source) is False
    source.write_text("x = 2\n")
    assert bytecode._written(source) is True
    py_compile.compile(str(source), invalidation_mode=py_compile.PycInvalidationMode.TIMESTAMP)
    assert bytecode._written(source) is False
    os.utime(source, (0, 0))
    assert bytecode._written(source) is True
    assert bytecode._written(tmp_path / "missing.py") is False


def test_the_call_is_not_hidden_by_its_module() -> None:
    assert callable(streamdeid.warm_up) and streamdeid.warm_up is warming.warm_up

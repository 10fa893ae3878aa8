"""The house rules that a machine can keep (docs/architecture.md 7)."""

from __future__ import annotations

import ast
import re
from functools import cache, lru_cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "streamdeid"
SOURCES = sorted(PACKAGE.rglob("*.py"))
EVERYTHING = sorted([*SOURCES, *(ROOT / "tests").rglob("*.py"), *(ROOT / "benchmarks").rglob("*.py")])
PAGES = (ROOT / "docs", ROOT, ROOT / "benchmarks", ROOT / "models")
DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")])
_WRITTEN = {"papers", "attacks", "utility", "laboratory", "lab", "name", "NAME"}
"""Reports that `streamdeid evaluate` writes, without .md."""
FORBIDDEN_NAMES = ("utils", "util", "helper", "helpers", "manager", "handler", "common")
UNFINISHED = ("TO" + "DO", "FIX" + "ME", "NotImplemented" + "Error", "XX" + "X")


def _where(path: Path) -> str:
    return str(path.relative_to(ROOT))


@lru_cache(maxsize=1)  # each file is asked several things in turn; all of them at once would fill the memory
def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def _imports(path: Path) -> set[str]:
    """Top-level packages that a file imports, at its head, inside functions, or by name."""
    found: set[str] = set()
    for node in ast.walk(_tree(path)):
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found.add(node.module.split(".")[0])
        elif isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if name in ("import_module", "__import__", "find_spec") and isinstance(node.args[0].value, str):
                found.add(node.args[0].value.split(".")[0])
    return found


def _calls(path: Path) -> set[str]:
    """Names of what a file calls."""
    calls = (node.func for node in ast.walk(_tree(path)) if isinstance(node, ast.Call))
    return {f.id if isinstance(f, ast.Name) else f.attr for f in calls if isinstance(f, ast.Name | ast.Attribute)}


def _names(path: Path) -> set[str]:
    """Names that a file gives to itself, its folder, its functions and its classes."""
    defined = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    return {path.stem, path.parent.name} | {node.name for node in ast.walk(_tree(path)) if isinstance(node, defined)}


def test_there_is_something_to_check() -> None:
    assert len(SOURCES) > 30 and "DeidentifiedFrame" in _calls(PACKAGE / "protect" / "replace_faces.py")


def test_only_protect_builds_what_may_leave() -> None:
    builders = {path for path in SOURCES if "DeidentifiedFrame" in _calls(path)}
    assert {path.parent for path in builders} == {PACKAGE / "protect"}


def test_a_raw_frame_is_never_relabelled() -> None:
    """No file renames the type, or makes one by the back door."""
    for path in SOURCES:
        for node in ast.walk(_tree(path)):
            if isinstance(node, ast.alias):
                assert not (node.name == "DeidentifiedFrame" and node.asname), _where(path)
            if isinstance(node, ast.Assign) and isinstance(node.value, ast.Name):
                assert node.value.id != "DeidentifiedFrame", _where(path)
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "cast":
                assert "DeidentifiedFrame" not in ast.dump(node), _where(path)


@pytest.mark.parametrize(
    ("package", "home"), [("mediapipe", "detection"), ("av", "video"), ("ray", "runs"), ("fsspec", "runs")]
)
def test_packages_stay_at_home(package: str, home: str) -> None:
    users = [path for path in SOURCES if package in _imports(path)]
    assert users, f"nobody imports {package}: the test looks in the wrong place"
    assert {path.relative_to(PACKAGE).parts[0] for path in users} == {home}


def test_no_module_is_loose() -> None:
    assert {path.name for path in PACKAGE.glob("*.py")} == {"__init__.py", "errors.py", "settings.py"}


def test_each_room_says_what_lives_in_it() -> None:
    rooms = [path.parent for path in SOURCES if path.name == "__init__.py" and path.parent.parent == PACKAGE]
    assert len(rooms) > 15
    for room in rooms:
        text = ast.get_docstring(ast.parse((room / "__init__.py").read_text(encoding="utf-8"))) or ""
        assert len(text.splitlines()) >= 3, f"{room.name} does not say what lives there and what may not"


def test_tests_stand_in_folders_like_the_rooms() -> None:
    folders = {path.parent.name for path in (ROOT / "tests").rglob("test_*.py")}
    assert folders <= {path.name for path in PACKAGE.iterdir()} | {"house", "benchmarks"}


@pytest.mark.parametrize("path", EVERYTHING, ids=_where)
def test_file(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= (600 if path.is_relative_to(ROOT / "tests") else 400), "too long"
    assert [word for word in UNFINISHED if re.search(rf"\b{word}\b", text)] == [], "unfinished"
    words = {word for name in _names(path) for word in re.findall(r"[A-Z]?[a-z0-9]+", name)}
    assert {word.lower() for word in words} & set(FORBIDDEN_NAMES) == set(), "a name that says nothing"
    assert not text.strip() or ast.get_docstring(_tree(path)), "no docstring"


@pytest.mark.parametrize("path", SOURCES, ids=_where)
def test_what_others_use_is_documented(path: Path) -> None:
    tree = _tree(path)
    public = [n for n in tree.body if isinstance(n, ast.FunctionDef | ast.ClassDef) and not n.name.startswith("_")]
    assert [node.name for node in public if not ast.get_docstring(node)] == []


_Function = ast.FunctionDef | ast.AsyncFunctionDef


def _own_lines(function: _Function) -> int:
    """Lines of a function's body, without its docstring and the functions in it."""
    body = function.body[1:] if ast.get_docstring(function) else function.body
    lines = function.end_lineno - body[0].lineno + 1 if body and function.end_lineno else 0
    inner = [node for part in body for node in ast.walk(part) if isinstance(node, _Function)]
    within = {line for node in inner for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)}
    return lines - len(within)


def _is_kernel(function: _Function) -> bool:
    return any("kernel" in ast.dump(decorator) for decorator in function.decorator_list)


@pytest.mark.parametrize("path", SOURCES, ids=_where)
def test_functions_are_short(path: Path) -> None:
    functions = [node for node in ast.walk(_tree(path)) if isinstance(node, _Function) and not _is_kernel(node)]
    assert [node.name for node in functions if _own_lines(node) > 60] == []


_REFERENCE = re.compile(r"(?:docs/)?\b(\w+)\.md(?:,? (?:section )?(\d+(?:\.\d+)?))?")


def _sections(page: Path) -> set[str]:
    """Numbers of a document's headings, and of the items of the list under one."""
    found, chapter = set(), ""
    for line in page.read_text(encoding="utf-8").splitlines():
        if heading := re.match(r"#+ (\d+(?:\.\d+)?)", line):
            found.add(chapter := heading[1])
        elif item := re.match(r"(\d+)\. ", line):
            found.add(f"{chapter}.{item[1]}")
    return found


@pytest.mark.parametrize("path", EVERYTHING, ids=_where)
def test_every_reference_can_be_followed_in_the_repository(path: Path) -> None:
    """A document that is named is there, and a numbered section of it too."""
    text = " ".join(path.read_text(encoding="utf-8").split())
    assert not re.search(r"\b(METHODS|DESIGN|RUNTIME|ANCHORS)(?: section)? \d", text), "a document that is not here"
    for name, section in _REFERENCE.findall(text):
        page = next((place / f"{name}.md" for place in PAGES if (place / f"{name}.md").is_file()), None)
        if page is None:  # a report that the program writes
            assert name in _WRITTEN, f"there is no {name}.md"
        elif section and page.parent.name == "docs":
            assert section in _sections(page), f"{name}.md has no section {section}"


@pytest.mark.parametrize("page", DOCUMENTS, ids=_where)
def test_links_of_the_documents_lead_somewhere(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", text):
        assert (page.parent / target).exists(), target
    for where in re.findall(r"`((?:streamdeid|tests|benchmarks|docs)/[\w/.]+)`", text):
        assert (ROOT / where).exists(), where


def test_the_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_bytes()) < 8192


def test_a_type_of_arrays_has_one_name() -> None:
    """Who speaks of points or pixels takes the name from `core.arrays`, and does not give them another one."""
    home = PACKAGE / "core" / "arrays.py"
    known = {ast.unparse(value) for _, value in _named_types(home)}
    assert {"NDArray[np.float64]", "NDArray[np.bool_]"} <= known
    others = {
        f"{_where(path)}: {name} = {ast.unparse(value)}"
        for path in EVERYTHING
        if path != home
        for name, value in _named_types(path)
        if ast.unparse(value) in known
    }
    words = {  # for something that is no array like others
        "benchmarks/leaks/occluders_drawn.py: Hidden = NDArray[np.float32]",
        "streamdeid/identity/face_look.py: Look = NDArray[np.float32]",
        "streamdeid/identity/face_resnet.py: Layer = NDArray[np.float32]",
        "streamdeid/render/scene_grain.py: Deviations = NDArray[np.float64]",
        "streamdeid/tracking/cuts.py: Small = NDArray[np.float32]",
        "streamdeid/aam/synthesise.py: Mask = NDArray[np.uint8]",
        "streamdeid/analysis/columns.py: Numbers = NDArray[np.int32]",
        "tests/drawing_twins.py: Bytes = NDArray[np.uint8]",
        "tests/protect/test_levels.py: Areas = NDArray[np.float64]",
    }
    assert others == words


def _named_types(path: Path) -> list[tuple[str, ast.expr]]:
    """Names that the head of a file gives to types, and those types."""
    return [
        (node.targets[0].id, node.value)
        for node in _tree(path).body
        if isinstance(node, ast.Assign)
        and isinstance(node.targets[0], ast.Name)
        and isinstance(node.value, ast.Subscript)
    ]


def test_what_contributing_says_where_is_is_there() -> None:
    """Files and names: `runs/files.py` (`FileRun`)."""
    (section,) = re.findall(r"## Where is\n(.*?)\n## ", (ROOT / "CONTRIBUTING.md").read_text(), re.DOTALL)
    rows = [row.split("|")[2] for row in section.strip().splitlines()[2:]]
    assert sum(row.count(".py`") for row in rows) > 25
    for row in rows:
        for path, names in re.findall(r"`([\w/]+(?:\.py|/))`(?: \(((?:`[\w.]+`(?:, )?)+))?", row):
            place = ROOT / "streamdeid" / path
            assert place.exists(), path
            for name in re.findall(r"[\w.]+", names):
                assert re.search(rf"(class|def) {name.rpartition('.')[2]}\b", place.read_text()), (path, name)

"""The edits file: read as it was written, safe on the disk, one desk at a time, and believed in nothing."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tracemalloc
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamdeid.analysis.edits import (
    AnotherSurrogate,
    CoverPerson,
    CoverPlace,
    CoverRegion,
    Edit,
    Edits,
    JoinPersons,
    PartPerson,
    RemoveRedaction,
    Rendered,
    ShowPerson,
    Span,
)
from streamdeid.analysis.edits_file import MOST_BYTES, check_edits, edits_from, edits_text, read_edits, write_edits
from streamdeid.analysis.edits_lock import lock_edits
from streamdeid.analysis.strict_json import Unfit
from streamdeid.errors import InputError, OutputError, SettingsError
from tests.analysis.made_recordings import EDITS, HEADER

_MOST_MEMORY = 320 << 20
_FRAMES = 500
_WHO = st.integers(1, 2**31 - 1)
_TEXT = st.text(st.characters(categories=("L", "N", "P", "S")), max_size=100)


@st.composite
def _spans(draw: st.DrawFn) -> Span:
    first = draw(st.integers(0, _FRAMES - 1))
    return Span(first, draw(st.none() | st.integers(first, _FRAMES - 1)))


@st.composite
def _boxes(draw: st.DrawFn) -> tuple[float, float, float, float]:
    x0, y0 = draw(st.floats(-32_768, 32_000)), draw(st.floats(-32_768, 32_000))
    return x0, y0, draw(st.floats(x0 + 1, 32_768)), draw(st.floats(y0 + 1, 32_768))


@st.composite
def _places(draw: st.DrawFn) -> CoverPlace:
    boxes = tuple(draw(st.lists(_boxes(), min_size=1, max_size=9)))
    first = draw(st.integers(0, _FRAMES - len(boxes)))
    frames = sorted(draw(st.sets(st.integers(first, first + len(boxes) - 1), min_size=1)))
    return CoverPlace(draw(_WHO), tuple((frame, draw(_boxes())) for frame in frames), first, boxes)


_EDIT: st.SearchStrategy[Edit] = st.one_of(
    st.builds(ShowPerson, _WHO, _spans()),
    st.builds(CoverPerson, _WHO, _spans()),
    _places(),
    st.builds(RemoveRedaction, _WHO, _spans()),
    st.builds(JoinPersons, st.just(1), st.integers(2, 2**31 - 1)),
    st.builds(PartPerson, st.just(3), st.integers(0, _FRAMES - 1), st.integers(4, 2**31 - 1)),
    st.builds(AnotherSurrogate, _WHO),
    st.builds(CoverRegion, _boxes(), _spans()),
)


@st.composite
def _edits(draw: st.DrawFn) -> Edits:
    return Edits(
        "ab" * 32,
        _FRAMES,
        tuple(draw(st.lists(_EDIT, max_size=12))),
        tuple(draw(st.lists(_EDIT, max_size=4))),
        tuple(draw(st.lists(_TEXT, max_size=5))),
        draw(_TEXT),
        draw(st.sampled_from(["", "2026-11-23", "2026-11-23T01:02:03.5+01:00"])),
        draw(st.none() | st.builds(Rendered, st.just("0" * 64), st.lists(_EDIT, max_size=4).map(tuple))),
    )


@given(_edits())
@settings(deadline=None, max_examples=100)
def test_edits_are_read_as_they_were_written(edits: Edits) -> None:
    assert edits_from(edits_text(edits)) == edits


def test_a_file_is_read_as_it_was_written_and_people_can_read_it(tmp_path: Path) -> None:
    path = tmp_path / "a.edits.json"
    write_edits(path, EDITS)
    assert read_edits(path) == EDITS
    lines = path.read_text(encoding="utf-8").splitlines()
    assert '{"edit": "show person", "first": 0, "last": null, "person": 3},' in lines
    keys = [line.split('"')[1] for line in lines if line.startswith('"') and '":' in line]
    assert keys == sorted(keys) and '"reviewer": "Zoë",' in lines
    assert json.loads(path.read_text(encoding="utf-8"))["version"] == 1


def test_one_more_edit_is_one_more_line(tmp_path: Path) -> None:
    before = edits_text(EDITS).splitlines()
    after = edits_text(replace(EDITS, done=(AnotherSurrogate(2), *EDITS.done))).splitlines()
    assert len(after) == len(before) + 1 and set(before) <= set(after)


def test_a_file_that_cannot_be_written_leaves_the_one_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a"
    write_edits(path, EDITS)

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("streamdeid.core.atomic_file.put_in_place", full)
    with pytest.raises(OutputError, match="no space left"):
        write_edits(path, replace(EDITS, done=()))
    assert read_edits(path) == EDITS and list(tmp_path.iterdir()) == [path]
    with pytest.raises(OutputError, match="does not exist"):
        write_edits(tmp_path / "none" / "a", EDITS)


def test_edits_that_could_not_be_read_are_not_written(tmp_path: Path) -> None:
    for edit in (
        ShowPerson(0, Span(0, None)),
        RemoveRedaction(1, Span(70, None)),
        CoverRegion((0.0, 0.0, 0.0, 1.0), Span(0, None)),
        CoverPlace(1, (), 0, ((0.0, 0.0, 1.0, 1.0),)),
    ):
        with pytest.raises(ValueError, match="edits that cannot be read again"):
            write_edits(tmp_path / "a", replace(EDITS, done=(edit,)))
    assert list(tmp_path.iterdir()) == []


def test_edits_of_another_recording_are_refused() -> None:
    check_edits(Path("a"), EDITS, HEADER, 70)
    with pytest.raises(InputError, match="a cannot be used: it holds edits of another recording"):
        check_edits(Path("a"), replace(EDITS, input_sha256="0" * 64), HEADER, 70)
    with pytest.raises(InputError, match="about 70 frames, and the analysis has 71"):
        check_edits(Path("a"), EDITS, HEADER, 71)


def _with(**other: Any) -> bytes:
    return json.dumps(json.loads(edits_text(EDITS)) | other).encode()


def _edit(**other: Any) -> bytes:
    edit = {"edit": "cover region", "box": [0, 0, 5, 5], "first": 0, "last": None} | other
    return _with(done=[{key: value for key, value in edit.items() if value != "left out"}])


def _place(**other: Any) -> bytes:
    row = {"edit": "cover place", "number": 1, "first": 0, "keys": [[0, [0, 0, 5, 5]]], "boxes": [[0, 0, 5, 5]]}
    return _with(done=[row | other])


_NAN = float("nan")
_LIES: dict[str, tuple[str, Callable[[], bytes]]] = {
    "version": ("version 2", lambda: _with(version=2)),
    "version of another kind": ("version is not", lambda: _with(version="1")),
    "unknown key": ("unknown key 'more'", lambda: _with(more=1)),
    "no key": ("has no frames", lambda: b'{"version": 1, "input_sha256": "x", "places_sha256": ""}'),
    "key twice": ("twice", lambda: b'{"version": 1, "version": 1}'),
    "no object": ("not an object", lambda: b"[1]"),
    "no json": ("not JSON", lambda: b"{]"),
    "no text": ("not JSON", lambda: b"\xff\xfe"),
    "nothing": ("not JSON", lambda: b""),
    "deep": ("nested", lambda: b"[" * 1_000_000),
    "many entries": ("entries", lambda: b"[" + b"0," * 10_000_000 + b"0]"),
    "large": ("larger than", lambda: b" " * (MOST_BYTES + 1)),
    "long number": ("not JSON", lambda: _with().replace(b"70", b"7" * 5000)),
    "hash": ("SHA-256", lambda: _with(input_sha256="AB" * 32)),
    "frames": ("frames is not a whole number", lambda: _with(frames=True)),
    "reviewed": ("reviewed is not a time", lambda: _with(reviewed="yesterday")),
    "reviewer": ("reviewer is not a text", lambda: _with(reviewer="a\u0000b")),
    "looked at": ("not a name", lambda: _with(looked_at=["\ud800"])),
    "rendered": ("rendered is not an object", lambda: _with(rendered=3)),
    "kind": ("no edit that is known: 'erase'", lambda: _edit(edit="erase")),
    "kind of kind": ("no edit that is known", lambda: _edit(edit=["show person"])),
    "edit of another kind": ("unknown key 'box'", lambda: _edit(edit="show person")),
    "key of an edit": ("unknown key 'colour'", lambda: _edit(colour=1)),
    "no last": ("has no last", lambda: _edit(last="left out")),
    "negative": ("done 1: first is not a whole number", lambda: _edit(first=-1)),
    "fraction": ("first is not a whole number", lambda: _edit(first=0.5)),
    "beyond the end": ("last is not a whole number", lambda: _edit(last=70)),
    "backwards": ("last is not a whole number", lambda: _edit(first=5, last=4)),
    "box beyond": ("not a number from", lambda: _edit(box=[0, 0, 5, 32_769])),
    "empty box": ("empty box", lambda: _edit(box=[5, 0, 5, 5])),
    "long whole number": ("not a number from", lambda: _edit().replace(b"5]", b"9" * 400 + b"]")),
    "nan": ("not a number", lambda: _edit(box=[0, 0, _NAN, 5])),
    "infinite": ("not a number from", lambda: _edit().replace(b"5]", b"1e999]")),
    "box of three": ("four numbers", lambda: _edit(box=[0, 0, 5])),
    "keys": ("key frames", lambda: _place(keys=[[1, [0, 0, 5, 5]]])),
    "falling keys": ("key frames", lambda: _place(keys=[[0, [0, 0, 5, 5]]] * 2)),
    "no boxes": ("no boxes", lambda: _place(boxes=[])),
    "boxes beyond the end": ("list of at most 1", lambda: _place(first=69, boxes=[[0, 0, 5, 5]] * 2)),
    "same person": ("the same person", lambda: _with(done=[{"edit": "join persons", "person": 1, "other": 1}])),
    "new person": ("new is not", lambda: _with(done=[{"edit": "part person", "person": 3, "first": 1, "new": 3}])),
    "brackets": ("", lambda: b'{"version": 1, "done": [' + b"[]," * 990_000 + b"[]]}"),
}


@pytest.mark.parametrize("lie", _LIES)
def test_a_lie_is_found_in_one_line(tmp_path: Path, lie: str) -> None:
    path, (reason, make) = tmp_path / "a", _LIES[lie]
    path.write_bytes(make())
    tracemalloc.start()
    with pytest.raises(InputError) as caught:
        read_edits(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    said = str(caught.value)
    assert said.startswith(f"{path} cannot be read") and reason in said and "\n" not in said and len(said) < 400
    assert peak < _MOST_MEMORY, f"{peak >> 20} MiB"


def _refused_or_read(data: bytes) -> None:
    try:
        edits = edits_from(data)
    except Unfit as error:
        said = str(error)
    else:
        assert edits_from(edits_text(edits)) == edits
        return
    assert "\n" not in said


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.sampled_from(["edit", "first", "box"]), inner),
    max_leaves=12,
)
_KEYS = st.sampled_from(
    ["version", "frames", "done", "undone", "looked_at", "reviewer", "reviewed", "rendered", "places_sha256"]
)


@given(st.binary(max_size=300))
@settings(deadline=None, max_examples=150)
def test_any_bytes_are_refused(data: bytes) -> None:
    with pytest.raises(Unfit):
        edits_from(data)


@given(st.dictionaries(_KEYS, _JSON, min_size=1, max_size=3))
@settings(deadline=None, max_examples=150)
def test_any_values_are_read_or_refused(other: dict[str, Any]) -> None:
    _refused_or_read(json.dumps(json.loads(edits_text(EDITS)) | other).encode())


@given(st.lists(st.tuples(st.integers(0, 10**6), st.binary(min_size=0, max_size=3), st.integers(0, 9)), max_size=4))
@settings(deadline=None, max_examples=200)
def test_changed_files_are_read_or_refused(changes: list[tuple[int, bytes, int]]) -> None:
    data = edits_text(EDITS)
    for place, put, gone in changes:
        at = place % len(data)
        data = data[:at] + put + data[at + gone :]
    _refused_or_read(data)


def test_links_and_pipes_are_refused(tmp_path: Path) -> None:
    write_edits(tmp_path / "a", EDITS)
    (tmp_path / "link").symlink_to(tmp_path / "a")
    os.mkfifo(tmp_path / "pipe")
    for name, reason in (("link", "symbolic link"), ("pipe", "not a regular file"), ("none", "no such file")):
        with pytest.raises(InputError, match=reason):
            read_edits(tmp_path / name)


def test_writing_in_the_place_of_a_link_leaves_what_it_led_to(tmp_path: Path) -> None:
    (tmp_path / "other").write_text("other")
    (tmp_path / "link").symlink_to(tmp_path / "other")
    write_edits(tmp_path / "link", EDITS)
    assert (tmp_path / "other").read_text() == "other" and read_edits(tmp_path / "link") == EDITS


def test_a_second_desk_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.edits.json"
    with lock_edits(path):
        with pytest.raises(SettingsError, match="another review desk"), lock_edits(path):
            pass
        write_edits(path, EDITS)  # the lock is beside the file, which is replaced
        with pytest.raises(SettingsError), lock_edits(path):
            pass
        with lock_edits(tmp_path / "b"):
            pass
    with lock_edits(path):
        pass
    assert list(tmp_path.iterdir()) == [path]


_HOLD = """
import sys, time
from pathlib import Path
from streamdeid.analysis.edits_lock import lock_edits
with lock_edits(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(60)
"""


def test_a_lock_ends_with_its_process(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", _HOLD, str(tmp_path / "a")], stdout=subprocess.PIPE, text=True
    ) as holder:
        assert holder.stdout is not None and holder.stdout.readline() == "held\n"
        with pytest.raises(SettingsError, match="another review desk"), lock_edits(tmp_path / "a"):
            pass
        holder.kill()
    with lock_edits(tmp_path / "a"):
        pass


def test_a_lock_that_cannot_be_made_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="its lock cannot be made"), lock_edits(tmp_path / "none" / "a"):
        pass
    (tmp_path / "other").write_text("")
    (tmp_path / ".a.lock").symlink_to(tmp_path / "other")
    with pytest.raises(OutputError, match="its lock cannot be made"), lock_edits(tmp_path / "a"):
        pass


def test_the_example_in_the_documents_is_read() -> None:
    page = (Path(__file__).parents[2] / "docs" / "analysis.md").read_text(encoding="utf-8")
    edits = edits_from(page.split("```json\n")[1].split("```")[0].encode())
    assert edits_text(edits_from(edits_text(edits))) == edits_text(edits) and len(edits.done) == 2
    assert all(f"`{kind}`" in page for kind in (json.loads(line)["edit"] for line in _LINES))


_LINES = [line.rstrip(",") for line in edits_text(EDITS).decode().splitlines() if '"edit":' in line]

"""Reads an edit that the page asks for from JSON, with strict checks; `edits_check` checks it against the recording."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from streamdeid.analysis.edits import (
    AnotherSurrogate,
    CoverPerson,
    CoverPlace,
    CoverRegion,
    Edit,
    JoinPersons,
    PartPerson,
    RemoveRedaction,
    ShowPerson,
    Span,
)
from streamdeid.core.arrays import Box
from streamdeid.errors import SettingsError

Asked = Mapping[str, Any]
_MOST_BOXES = 200_000
_MOST_NUMBER = 2**31


def edit_of(asked: object) -> Edit:
    """The edit that a JSON value asks for. Raises SettingsError, also for an extra or a missing field.

    A person is only left visible with `"confirmed": true`; the same holds for joining a person with a visible one
    (`Desk.make`).
    """
    if not isinstance(asked, dict) or not isinstance(asked.get("do"), str) or asked["do"] not in _KINDS:
        raise SettingsError(f"an edit says what to do: one of {', '.join(_KINDS)}")
    names, made = _KINDS[asked["do"]]
    if set(asked) != {"do", *names}:
        raise SettingsError(f"the edit {asked['do']} has the fields {', '.join(names)} and no others")
    return made(asked)


def box_of(value: object) -> Box:
    """Read a box, x0, y0, x1, y1 in pixels, from a JSON value. Raises SettingsError."""
    if not isinstance(value, list) or len(value) != 4 or any(isinstance(one, bool) for one in value):
        raise SettingsError("a box is a list of four numbers")
    if not all(isinstance(one, int | float) and abs(one) < _MOST_NUMBER for one in value):
        raise SettingsError("a box is a list of four numbers")
    x0, y0, x1, y1 = (float(one) for one in value)
    if x1 - x0 < 1 or y1 - y0 < 1:
        raise SettingsError("a box is at least one pixel wide and high")
    return x0, y0, x1, y1


def whole(value: object, least: int = 0) -> int:
    """Read a whole number from `least` on. Raises SettingsError."""
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value < _MOST_NUMBER:
        raise SettingsError(f"a whole number from {least} on is needed")
    return value


def keys_of(value: object) -> dict[int, Box]:
    """Read boxes by frame from a list of pairs. Raises SettingsError."""
    if not isinstance(value, list) or not 0 < len(value) <= _MOST_BOXES:
        raise SettingsError("key frames are a list of pairs of a frame and a box")
    found: dict[int, Box] = {}
    for pair in value:
        if not isinstance(pair, list) or len(pair) != 2 or whole(pair[0]) in found:
            raise SettingsError("key frames are a list of pairs of a frame and a box, each frame once")
        found[pair[0]] = box_of(pair[1])
    return dict(sorted(found.items()))


def _span(asked: Asked) -> Span:
    return Span(whole(asked["first"]), None if asked["last"] is None else whole(asked["last"]))


def _shown(asked: Asked) -> Edit:
    if asked["confirmed"] is not True:
        raise SettingsError("a person is only left visible when that is confirmed")
    return ShowPerson(whole(asked["person"], 1), _span(asked))


def _place(asked: Asked) -> Edit:
    boxes = asked["boxes"]
    if not isinstance(boxes, list) or not 0 < len(boxes) <= _MOST_BOXES:
        raise SettingsError("boxes are a list with one for each frame")
    keys = tuple(keys_of(asked["keys"]).items())
    return CoverPlace(whole(asked["number"], 1), keys, whole(asked["first"]), tuple(box_of(box) for box in boxes))


_SPAN = ("first", "last")
_KINDS: dict[str, tuple[tuple[str, ...], Callable[[Asked], Edit]]] = {
    "show": (("person", *_SPAN, "confirmed"), _shown),
    "cover": (("person", *_SPAN), lambda a: CoverPerson(whole(a["person"], 1), _span(a))),
    "cover place": (("number", "keys", "first", "boxes"), _place),
    "remove": (("track", *_SPAN), lambda a: RemoveRedaction(whole(a["track"], 1), _span(a))),
    "join": (("person", "other", "confirmed"), lambda a: JoinPersons(whole(a["person"], 1), whole(a["other"], 1))),
    "part": (
        ("person", "first", "new"),
        lambda a: PartPerson(whole(a["person"], 1), whole(a["first"]), whole(a["new"], 1)),
    ),
    "another surrogate": (("person",), lambda a: AnotherSurrogate(whole(a["person"], 1))),
    "region": (("box", *_SPAN), lambda a: CoverRegion(box_of(a["box"]), _span(a))),
}


def in_words(edit: Edit) -> str:
    """A sentence for the reviewer that says what an edit does."""
    if isinstance(edit, ShowPerson):
        return f"Person {edit.person} left visible, {_frames(edit.span)}"
    if isinstance(edit, CoverPerson):
        return f"Person {edit.person} covered again, {_frames(edit.span)}"
    if isinstance(edit, CoverPlace):
        last = edit.first + len(edit.boxes) - 1
        return f"Place {edit.number} covered by hand, {_frames(Span(edit.first, last))}"
    if isinstance(edit, RemoveRedaction):
        return f"Redaction of track {edit.track} removed, {_frames(edit.span)}"
    if isinstance(edit, JoinPersons):
        return f"Person {edit.other} is person {edit.person}"
    if isinstance(edit, PartPerson):
        return f"Person {edit.person} from frame {edit.first} on is person {edit.new}"
    if isinstance(edit, AnotherSurrogate):
        return f"Another face for person {edit.person}"
    return f"Region filled, {_frames(edit.span)}"


def _frames(span: Span) -> str:
    if span.last is None:
        return "whole recording" if span.first == 0 else f"from frame {span.first} to the end"
    return f"frame {span.first}" if span.first == span.last else f"frames {span.first} to {span.last}"

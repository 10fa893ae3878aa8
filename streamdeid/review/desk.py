"""The state of the desk: a recording, its analysis, and the edits, which are written as soon as one is made."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from streamdeid.analysis.applied import Applied, FrameEdits
from streamdeid.analysis.edits import CoverPlace, CoverRegion, Edit, Edits, PartPerson
from streamdeid.analysis.edits_check import check_done
from streamdeid.core.arrays import Box
from streamdeid.errors import SettingsError
from streamdeid.review.edit_requests import in_words
from streamdeid.review.recorded import LEVELS, Recorded, of_spans, runs

VISIBLE, REMOVED, BY_HAND = range(len(LEVELS), len(LEVELS) + 3)
STATES = (*LEVELS, "left visible", "redaction removed", "covered by hand")
"""Names of the states that a run of the timeline can have, by number."""


class DoubtRange(Protocol):
    """A doubt to look at, as `review.doubts` ranks it."""

    @property
    def name(self) -> str: ...

    @property
    def kind(self) -> str: ...

    @property
    def first(self) -> int: ...

    @property
    def last(self) -> int: ...

    @property
    def track(self) -> int: ...

    @property
    def person(self) -> int: ...

    @property
    def box(self) -> Box: ...

    @property
    def severity(self) -> float: ...

    @property
    def why(self) -> str: ...


@dataclass(frozen=True)
class Names:
    """The names of the files that the page shows."""

    recording: str
    output: str
    edits: str


class Desk:
    """One recording under review. Used by one thread."""

    def __init__(
        self,
        names: Names,
        recorded: Recorded,
        doubts: Sequence[DoubtRange],
        edits: Edits,
        save: Callable[[Edits], None],
    ) -> None:
        """save: writes the edits. If it raises OutputError, nothing changes here either. Raises SettingsError for edits
        that do not fit."""
        self.names, self.recorded, self.doubts = names, recorded, doubts
        self._edits, self._save = edits, save
        check_done(recorded.places, (recorded.width, recorded.height), (*edits.done, *edits.undone))
        self._now = Applied(recorded.places, edits.done)
        self._rendered = self._in_output()
        self.version = 0
        """A number that rises with each change."""

    @property
    def edits(self) -> Edits:
        """The edits as they are written."""
        return self._edits

    def at(self, frame: int) -> tuple[FrameEdits, FrameEdits]:
        """The effect of the edits on a frame, and the effect of those edits that the output holds."""
        return self._now.at(frame), self._rendered.at(frame)

    def make(self, edit: Edit, *, confirmed: bool = True) -> None:
        """Make an edit. Raises SettingsError for an edit that does not fit, and for an unconfirmed one that makes a
        redacted place visible; OutputError when the edits cannot be written."""
        edits = self._edits
        done = (*edits.done, edit)
        check_done(self.recorded.places, (self.recorded.width, self.recorded.height), done)
        if not confirmed and (Applied(self.recorded.places, done).visible & ~self._now.visible).any():
            raise SettingsError("that would leave more of somebody visible, and has to be confirmed")
        self._take(replace(edits, done=done, undone=()))

    def undo(self) -> str:
        """Undo the last edit; return its description. Raises SettingsError if there is none, and OutputError."""
        if not self._edits.done:
            raise SettingsError("there is nothing to undo")
        *done, last = self._edits.done
        self._take(replace(self._edits, done=tuple(done), undone=(last, *self._edits.undone)))
        return in_words(last)

    def redo(self) -> str:
        """Redo the last undone edit; return its description. Raises SettingsError if there is none, and OutputError."""
        if not self._edits.undone:
            raise SettingsError("there is nothing to redo")
        first, *rest = self._edits.undone
        self._take(replace(self._edits, done=(*self._edits.done, first), undone=tuple(rest)))
        return in_words(first)

    def look(self, doubt: str, looked: bool) -> None:
        """Note that a doubt was looked at, or undo that. Raises SettingsError for an unknown doubt, and OutputError."""
        if doubt not in {one.name for one in self.doubts}:
            raise SettingsError("there is no such doubt")
        names = [name for name in self._edits.looked_at if name != doubt]
        self._take(replace(self._edits, looked_at=(*names, doubt) if looked else tuple(names)))

    def _take(self, edits: Edits) -> None:
        self._save(edits)
        self._edits = edits
        self._now = Applied(self.recorded.places, edits.done)
        self._rendered = self._in_output()
        self.version += 1

    def _in_output(self) -> Applied:
        """The effect of the edits that the output holds."""
        rendered = self._edits.rendered
        return Applied(self.recorded.places, () if rendered is None else rendered.edits)

    # Answers to the page

    def state(self) -> dict[str, Any]:
        """All that the page shows as JSON, without pictures and the places of single frames."""
        recorded, edits = self.recorded, self._edits
        looked = set(edits.looked_at)
        return {
            "version": self.version,
            "recording": self.names.recording,
            "output": self.names.output,
            "edits_file": self.names.edits,
            "frames": len(recorded.times),
            "rate": float(recorded.rate),
            "duration": float(recorded.times[-1] - recorded.times[0]) if len(recorded.times) else 0.0,
            "width": recorded.width,
            "height": recorded.height,
            "cuts": list(recorded.cuts),
            "states": STATES,
            "people": self._people(),
            "nobody": self._runs(self._now.person == 0),
            "by_hand": self._by_hand(),
            "doubts": [_told(one, one.name in looked) for one in self.doubts],
            "edits": [in_words(one) for one in edits.done],
            "undo": in_words(edits.done[-1]) if edits.done else None,
            "redo": in_words(edits.undone[0]) if edits.undone else None,
            "rendered": self._held(),
            "new_person": self._new_person(),
            "new_place": max(
                (one.number for one in (*edits.done, *edits.undone) if isinstance(one, CoverPlace)), default=0
            )
            + 1,
        }

    def places_of(self, first: int, count: int) -> list[dict[str, Any]]:
        """Contents of `count` frames from `first` on, as JSON: time, redactions, places redacted by hand, regions."""
        last = min(first + count, len(self.recorded.times))
        return [self._places(frame) for frame in range(max(first, 0), last)]

    def thumbnail_of(self, person: int) -> tuple[int, Box] | None:
        """Frame and box that show a person's surrogate best: the widest of the best level. None without such a box."""
        recorded = self.recorded
        rows = np.flatnonzero((self._now.person == person) & (recorded.level > 0)) if person > 0 else np.empty(0, int)
        if not len(rows):
            return None
        width = recorded.box[rows, 2] - recorded.box[rows, 0]
        best = rows[np.lexsort((-width, recorded.level[rows]))[0]]
        x0, y0, x1, y1 = recorded.box[best].tolist()
        return int(recorded.places.frame[best]), (x0, y0, x1, y1)

    def _held(self) -> int:
        """How many edits, counted from the first, the output holds."""
        held = () if self._edits.rendered is None else self._edits.rendered.edits
        pairs = zip(held, self._edits.done, strict=False)
        return sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], pairs))

    def _new_person(self) -> int:
        """A new number of a person, larger than any other, also than numbers from edits that were undone."""
        edits = (*self._edits.done, *self._edits.undone)
        known = [int(one) for one in self.recorded.places.persons]
        return max([0, *known, *(one.new for one in edits if isinstance(one, PartPerson))]) + 1

    def _people(self) -> list[dict[str, Any]]:
        visible = self._now.visible_frames()
        people = []
        for person in np.unique(self._now.person).tolist():
            if person > 0:
                mine = self._now.person == person
                row = self._runs(mine)
                shown, kept = visible.get(person, ([], []))
                people.append(
                    {
                        "person": person,
                        "runs": row,
                        "first": row[0],
                        "frames": int(sum(row[1::3])),
                        "visible": sum(last - begin + 1 for begin, last in shown),
                        "kept": sum(last - begin + 1 for begin, last in kept),
                        "surrogates": self._now.surrogates.get(person, 0),
                        "tracks": len(np.unique(self.recorded.places.track[mine])),
                    }
                )
        return people

    def _runs(self, rows: np.ndarray[Any, np.dtype[np.bool_]]) -> list[int]:
        state = self.recorded.level.copy()
        state[self._now.visible] = VISIBLE
        state[self._now.removed] = REMOVED
        return runs(self.recorded.places.frame[rows], state[rows])

    def _by_hand(self) -> list[dict[str, Any]]:
        drawn = {one.number: one for one in self._edits.done if isinstance(one, CoverPlace)}
        rows: list[dict[str, Any]] = [
            {
                "name": f"Place {one.number}",
                "number": one.number,
                "keys": [[frame, box] for frame, box in one.keys],
                "runs": of_spans([(one.first, one.first + len(one.boxes) - 1)], BY_HAND),
            }
            for one in drawn.values()
        ]
        end = len(self.recorded.times) - 1
        for number, one in enumerate((one for one in self._edits.done if isinstance(one, CoverRegion)), 1):
            span = one.span.first, end if one.span.last is None else one.span.last
            rows.append({"name": f"Region {number}", "number": 0, "keys": [], "runs": of_spans([span], BY_HAND)})
        return rows

    def _places(self, frame: int) -> dict[str, Any]:
        recorded, now = self.recorded, self._now.at(frame)
        rows = recorded.places.rows(frame)
        found = []
        for row in range(rows.start, rows.stop):
            track = int(recorded.places.track[row])
            state = int(recorded.level[row])
            state = VISIBLE if track in now.visible else REMOVED if track in now.removed else state
            found.append(
                {
                    "track": track,
                    "person": int(self._now.person[row]),
                    "state": state,
                    "cause": recorded.causes[recorded.cause[row]],
                    "kept": track in now.kept,
                    "box": [round(value, 1) for value in recorded.box[row].tolist()],
                }
            )
        return {
            "time": float(recorded.times[frame] - recorded.times[0]),
            "places": found,
            "by_hand": [[number, list(box)] for number, box in now.places],
            "regions": [list(box) for box in now.regions],
        }


def _told(doubt: DoubtRange, looked: bool) -> dict[str, Any]:
    return {
        "id": doubt.name,
        "kind": doubt.kind,
        "first": doubt.first,
        "last": doubt.last,
        "track": doubt.track,
        "person": doubt.person,
        "box": [round(value, 1) for value in doubt.box],
        "severity": doubt.severity,
        "why": doubt.why,
        "looked": looked,
    }

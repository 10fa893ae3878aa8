"""What A14 found, in words and tables: faces kept or covered late, the original inside the hull, and tags."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from streamdeid.core.arrays import Pixels
from streamdeid.lab.attacks import gaps
from streamdeid.lab.attacks.filmed import Filmed, Person
from streamdeid.lab.attacks.video_chapters import between, over_people
from streamdeid.lab.identification import Interval, exact_limits
from streamdeid.lab.tables import Chapter, ClaimVerdict, Table, percent

_SMOOTH = 0.001
"""Share of pixels: how far smoothly spread differences may miss the estimate of chance."""


def gaps_chapter(clips: Sequence[Filmed], tags: Table | None, survived: Sequence[str]) -> Chapter:
    """A14: faces kept, covered late, pixels and detail left inside the hull, tags. `survived`: tags still readable."""
    boxed = [clip for clip in clips if clip.findings is not None]
    tables, verdicts = [], []
    if boxed:
        rows, kept, faces, late = _exposure_rows(boxed)
        columns = ("Clip", "Frames", "Faces", "Kept", "Frames with one kept", "Appearances", "Late", "Longest")
        limits = exact_limits(kept, faces)
        note = (
            f"Faces of {gaps.LEAST_SIDE:g} px and up that an independent detector found with score "
            f"{gaps.LEAST_SCORE:g} and up, in the frames that it looked at. Kept: the luma of the middle half changed "
            f"by less than {2 * gaps.FLOOR:g} grey levels. Late: appearances whose face kept its pixels before. "
            f"95 % limits of the share kept, were faces independent: {_per_10k(limits.low)} to {_per_10k(limits.high)} "
            "per 10,000."
        )
        tables.append(Table("Faces that keep their pixels", columns, rows, note))
        headline = f"{_per_10k(limits.value)} per 10,000 ({kept} of {faces})" if faces else "not measured"
        verdicts.append(
            ClaimVerdict("no face keeps its pixels", "0 per 10,000 faces", headline, faces > 0 and kept == 0)
        )
        measured = f"{len(late)} appearances, longest {max(late, default=0)} frames"
        verdicts.append(ClaimVerdict("no face is covered late", "0 appearances", measured, not late))
    people = {clip.name: clip.main for clip in clips if clip.main is not None}
    if people:
        _inside(people, tables, verdicts)
    if tags is not None:
        tables.append(tags)
        told = ", ".join(survived) or "none"
        verdicts.append(ClaimVerdict("no tag of the original's file survives", "none", told, not survived))
    text = (
        "What leaves without being replaced needs no attack. Faces are counted where an independent detector sees "
        "them, so what both detectors miss is not counted, and what only looks like a face is. Inside the hull (the "
        "original's 68 landmarks and forehead) nothing of the original may be copied but the mouth's opening; the rim, "
        f"{percent(gaps.RIM, 0)} of the width, is where the filter fades the new face in."
    )
    missing = [] if boxed else ["no clip has boxes of an independent detector beside it (NAME.faces.csv)"]
    missing += [] if people else ["no clip shows one person most of the time"]
    missing += [] if tags is not None else ["no clip has tags"]
    if missing:
        text += f" Not run: {'; '.join(missing)}."
    return Chapter("a14-gaps", "A14: gaps through which the original shows", text, tuple(tables), tuple(verdicts))


def _exposure_rows(
    clips: Sequence[Filmed],
) -> tuple[tuple[tuple[str | int, ...], ...], int, int, list[int]]:
    """Rows of a table with a line for all clips, kept faces, faces, and the lengths of late covers in frames."""
    rows: list[tuple[str | int, ...]] = []
    totals = np.zeros(6, np.int64)
    everyone: list[int] = []
    for clip in clips:
        assert clip.findings is not None
        large = [finding for finding in clip.findings if finding.box.side >= gaps.LEAST_SIDE]
        kept = [finding for finding in large if finding.kept]
        times = gaps.late_frames(large, clip.step)
        late = [time for time in times if time]
        frames = len({finding.box.frame for finding in kept})
        counts = (clip.looked_at, len(large), len(kept), frames, len(times), len(late))
        rows.append((clip.name, *counts, max(late, default=0)))
        totals += counts
        everyone += late
    total = [int(count) for count in totals]
    return (*rows, ("all", *total, max(everyone, default=0))), total[2], total[1], everyone


def _inside(people: Mapping[str, Person], tables: list[Table], verdicts: list[ClaimVerdict]) -> None:
    """Pixels and fine detail of the original inside the hull."""
    beyond = np.array([[gaps.beyond_chance(zone) for zone in p.differences] for p in people.values()])
    rows = []
    for number, zone in enumerate(gaps.ZONES):
        share = over_people(beyond[:, number])
        pixels = sum(int(person.differences[number, 3]) for person in people.values())
        rows.append((zone, share.count, pixels, percent(share.value, 2), between(share, 2)))
    columns = ("Part of the hull", "People", "Pixels", "Equal beyond chance", "95 %")
    note = "Chance: luma is equal as often as it is one level off, where nothing is copied."
    tables.append(Table("Pixels equal to the original's", columns, tuple(rows), note))
    inside = over_people(beyond[:, 0])
    verdicts.append(
        ClaimVerdict(
            "inside the hull no pixel is the original's",
            f"equal beyond chance: the 95 % limits reach {percent(_SMOOTH)} or less",
            f"{percent(inside.value, 2)} ({between(inside, 2)})",
            inside.low <= _SMOOTH,
        )
    )
    detailed = {name: person for name, person in people.items() if person.details}
    if len(detailed) < 2:
        return
    own, other, original = _details(list(detailed.values()))
    three = [over_people(values) for values in (own, other, own - other, original)]
    labels = ("published with its own original", "published with others' originals", "difference")
    detail = tuple(
        (label, each.count, round(each.value, 4), _plain(each))
        for label, each in zip((*labels, "original with others' originals"), three, strict=True)
    )
    note = "Brightness less its blur of a sixtieth of the face's width, in the model's frame, inside the rim."
    tables.append(Table("Correlation of fine detail", ("Pictures", "People", "Correlation", "95 %"), detail, note))
    verdicts.append(
        ClaimVerdict(
            "fine detail tells no more of the own original than of another's",
            "95 % limits of the difference reach 0 or less",
            f"{three[2].value:+.3f} ({_plain(three[2])})",
            three[2].low <= 0,
        )
    )


def _details(people: Sequence[Person]) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Mean correlations (people,): published with own original, with others' originals, original with others'."""
    own: list[float] = []
    other: list[float] = []
    original: list[float] = []
    for person in people:
        own.append(_mean_correlation(person.details))
        strangers = [fine for each in people if each is not person for fine, _ in each.details[::5]]
        for side, into in ((1, other), (0, original)):
            into.append(_mean_correlation([(one, pair[side]) for one in strangers for pair in person.details[::5]]))
    return np.array(own), np.array(other), np.array(original)


def _mean_correlation(pairs: Sequence[tuple[Pixels, Pixels]]) -> float:
    found = np.array([gaps.correlation(a, b) for a, b in pairs])
    known = found[np.isfinite(found)]
    return float(known.mean()) if len(known) else math.nan


def _plain(interval: Interval) -> str:
    return f"{interval.low:.3f} to {interval.high:.3f}"


def _per_10k(share: float) -> str:
    return f"{10_000 * share:.1f}"

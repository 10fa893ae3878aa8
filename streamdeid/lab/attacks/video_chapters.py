"""What two attacks on video found, in words and tables: A8 (averaged frames) and A10 (motion)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from streamdeid.core.arrays import Points
from streamdeid.lab.attacks import motion
from streamdeid.lab.attacks.averaged_frames import COUNTS, WHOLE, Nearness, nearness
from streamdeid.lab.attacks.filmed import Filmed, Person
from streamdeid.lab.identification import Interval, bootstrap
from streamdeid.lab.tables import Chapter, ClaimVerdict, Table, percent

LEAST_PEOPLE = 4
LONG, SHORT = 10.0, 2.0
"""Seconds for which somebody must be seen to belong to the long and to the short clips' people."""
SECONDS = (1.0, 2.0, 5.0, 10.0)
_SEED = 8


def not_run(slug: str, title: str, reason: str) -> Chapter:
    """A chapter that says why there is no figure."""
    return Chapter(slug, title, f"Not run: {reason}.", (), ())


def motion_chapter(clips: Sequence[Filmed]) -> Chapter:
    """A10: rank-1 by seconds of motion, of the published faces and of the originals."""
    slug, title = "a10-motion", "A10: naming people by how their face moves"
    tables, verdicts, absent = [], [], []
    for least, lengths in ((LONG, SECONDS), (SHORT, SECONDS[:1])):
        people = {clip.name: clip.main for clip in clips if clip.main is not None and clip.seen() >= least - 1e-6}
        if len(people) < LEAST_PEOPLE:
            absent.append(f"{len(people)} of at least {LEAST_PEOPLE} people are seen for {least:g} s and more")
            continue
        rows, whole, chance = _motion_rows(people, lengths)
        names = ", ".join(people)
        columns = ("Learnt from", "Named in", "Seconds", "People named", "Stretches", "Rank-1", "95 %", "Chance")
        tables.append(Table(f"{len(people)} people seen for {least:g} s and more", columns, rows, f"Clips: {names}."))
        verdicts.append(
            ClaimVerdict(
                f"the attack works at all: it names the {len(people)} people in the unfiltered clips by 1 s of motion",
                f"more than chance ({percent(chance)})",
                share_and_limits(whole),
                whole.low > chance,
            )
        )
    if not tables:
        return not_run(slug, title, "; ".join(absent))
    text = (
        "The filter keeps motion on purpose, so a leak is expected here; it is reported, not bounded. Landmarks are "
        "found again in each frame, the head's turn is undone, and eight lengths of the face and the speed of the "
        "head's three angles are followed, each less its own mean, at 25 readings a second. Windows of 1 s are "
        "described by mean, spread and autocorrelation of each; linear discriminant analysis learns from the first "
        f"{percent(motion.LEARNT, 0)} of a clip and names the person in stretches of the rest. Longer stretches are "
        "means over windows; clips that are too short for them drop out, so lines of one table are over different "
        "people. Each person has one clip: camera, light, size of the face and what is said are the clip's, not the "
        "person's, and all of it is in the landmarks' jitter too. The figures are therefore an upper bound of what "
        "motion tells about the person. Learning from originals and naming published faces is the attack on somebody "
        "whose film is known; learning from published faces is the linking of two parts of one session."
    )
    if absent:
        text += f" Not run: {'; '.join(absent)}."
    return Chapter(slug, title, text, tuple(tables), tuple(verdicts))


def _motion_rows(
    people: Mapping[str, Person], lengths: Sequence[float]
) -> tuple[tuple[tuple[str | float | int, ...], ...], Interval, float]:
    """Rows of a table, the originals' rank-1 by 1 s, and chance."""
    parts = {name: [moved.parts() for moved in person.motions()] for name, person in people.items()}
    sides = ("original", "published")
    rows, whole = [], Interval(math.nan, math.nan, math.nan, 0)
    for learnt, later in ((0, 0), (1, 1), (0, 1)):
        for seconds in lengths:
            hits = motion.trials(
                {name: part[learnt][0] for name, part in parts.items()},
                {name: part[later][1] for name, part in parts.items()},
                seconds,
            )
            share = over_people([float(row.mean()) for row in hits.values()])
            count = sum(len(row) for row in hits.values())
            measured = (len(hits), count, percent(share.value), between(share), percent(1 / len(parts)))
            rows.append((sides[learnt], sides[later], seconds, *measured))
            whole = share if (learnt, later, seconds) == (0, 0, lengths[0]) else whole
    return tuple(rows), whole, 1 / len(parts)


def averages_chapter(clips: Sequence[Filmed], method: str, contrast: Sequence[Filmed], contrast_method: str) -> Chapter:
    """A8: own identity among everybody's, by the number of published frames averaged."""
    slug, title = "a8-averaged-frames", "A8: averages of many published frames"
    people = {clip.name: clip.main for clip in clips if clip.main is not None}
    if len(people) < LEAST_PEOPLE:
        return not_run(slug, title, f"{len(people)} of at least {LEAST_PEOPLE} clips show one person most of the time")
    gallery = {name: person.averages[0].of(WHOLE)[0] for name, person in people.items()}
    others = {clip.name: clip.main for clip in contrast if clip.main is not None and clip.name in people}
    sources = [("no filter", people, 0), (method, people, 1)]
    sources += [(contrast_method, others, 1)] if others else []
    tables, verdicts, seen = [], [], []
    for kind in next(iter(gallery.values())):
        own = {name: vectors[kind] for name, vectors in gallery.items()}
        rows = []
        for label, source, side in sources:
            found = {count: _nearness(source, own, kind, side, count) for count in (*COUNTS, WHOLE)}
            rows += [_average_row(label, count, each) for count, each in found.items() if np.isfinite(each.hits).any()]
            if label == method:
                verdicts.append(_falls(found, kind))
            elif label == contrast_method:
                seen.append(over_people(found[WHOLE].hits))
            else:
                verdicts.append(_works(found[WHOLE], kind, len(own)))
        columns = ("Published by", "Frames", "People", "Rank-1", "95 %", "Mean rank", "Own over others", "95 %")
        note = f"Gallery: {len(own)} people; chance {percent(1 / len(own))}, mean rank {(len(own) + 1) / 2:g}."
        tables.append(Table(f"Identity by {kind}", columns, tuple(rows), note))
    if seen:
        best = max(seen, key=lambda share: share.low)
        claim = f"the attack sees the residual that {contrast_method} lets through, by one identity at least"
        verdicts.append(ClaimVerdict(claim, "above chance", share_and_limits(best), best.low > 1 / len(people)))
    text = (
        "Faces are found again in the published frames, brought into the model's frame with the head's turn undone, "
        "and averaged over 1, 10, 100, 1,000 and all frames of a person; the mean's identity is matched with the "
        "identities of everybody's originals, each a mean over all frames of the clip. If the protection were noise, "
        'more frames would bring the mean nearer to its person. "Own over others" is the distance to the own '
        "original over the median distance to the others': 1 tells nothing, 0 is the person. Clips too short for a "
        "count drop out of its line, and counts that no clip reaches have none. Each clip is filtered under a key "
        "of its own, as separate files are. Light, expression, pose and outline are kept by the filter, and probe and "
        "gallery come from one clip that shares them: whoever is named behind a new face that does not depend on the "
        "person is named by these, so the figures are upper bounds."
    )
    return Chapter(slug, title, text, tuple(tables), tuple(verdicts))


def _nearness(people: Mapping[str, Person], own: Mapping[str, Points], kind: str, side: int, count: int) -> Nearness:
    probes = {name: [mean[kind] for mean in person.averages[side].of(count)] for name, person in people.items()}
    return nearness(probes, own)


def _average_row(label: str, count: int, found: Nearness) -> tuple[str | float | int, ...]:
    hits, relative = over_people(found.hits), over_people(found.relative)
    known = found.ranks[np.isfinite(found.ranks)]
    rank = float(known.mean()) if len(known) else math.nan
    near = (round(relative.value, 3), f"{relative.low:.2f} to {relative.high:.2f}") if relative.count else (None, None)
    return (label, "all" if count == WHOLE else count, hits.count, percent(hits.value), between(hits), rank, *near)


def _falls(found: Mapping[int, Nearness], kind: str) -> ClaimVerdict:
    """Whether all frames of a person are nearer to the person than one frame is."""
    change = over_people(found[WHOLE].relative - found[1].relative)
    return ClaimVerdict(
        f"averaging frames brings nobody nearer to the own original (identity by {kind})",
        "own over others does not fall from 1 frame to all: the 95 % limits of the change reach 0 or more",
        f"{change.value:+.3f} ({change.low:+.3f} to {change.high:+.3f})",
        change.high >= 0,
    )


def _works(found: Nearness, kind: str, people: int) -> ClaimVerdict:
    share = over_people(found.hits)
    met = share.low > 1 / people
    return ClaimVerdict(
        f"without a filter the mean names people (identity by {kind})", "above chance", share_and_limits(share), met
    )


def over_people(values: Sequence[float] | NDArray[np.float64]) -> Interval:
    """Mean of one value for each person, and its limits were other people met."""
    return bootstrap(np.asarray(values, np.float64)[:, None], np.random.default_rng(_SEED))


def between(interval: Interval, digits: int = 1) -> str:
    """The limits of a share in words."""
    return f"{percent(interval.low, digits)} to {percent(interval.high, digits)}" if interval.count else "not measured"


def share_and_limits(interval: Interval) -> str:
    """A share and its limits in words."""
    return f"{percent(interval.value)} ({between(interval)})"

"""`streamdeid evaluate utility`: what published faces keep, measured on rendered pictures (docs/methods.md 5.2).

Photographs of two sets are published as a stream would publish them, detected and landmarked again, and compared with
the originals. London: neutral and smiling pictures of the people whom the models were trained on, who are also the
donors. Canada: neutral pictures of people whom nothing was trained on.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from streamdeid.aam.fit import FitModel
from streamdeid.aam.photographs import NEUTRAL, Detect, Photograph, identity_of, reduced
from streamdeid.errors import InputError
from streamdeid.lab.published_pictures import Publisher
from streamdeid.lab.tables import Chapter
from streamdeid.lab.utility.chapters import attribute_chapter, detection_chapter, expression_chapter, geometry_chapter
from streamdeid.lab.utility.crowd_chapter import distinguishability_chapter
from streamdeid.lab.utility.refit import RefitFaces, refit_originals, refit_published
from streamdeid.lab.utility.results import ORIGINALS, SETTLED, Results, preserving
from streamdeid.protect.mask_faces import MASKS
from streamdeid.surrogates.choice import METHODS, SAMPLED
from streamdeid.surrogates.gallery import Gallery

LONDON, CANADA = "london", "canada"
SMILING = "smiling"

_WIDTH = 225.0
"""Pixels that a face is reduced to: as wide as the model's frame and a little more."""
_KEY = b"streamdeid evaluate utility"
_SETTLED_TIMES = 5
_QUICK_PEOPLE, _QUICK_FEW = 16, 5
_KEYS, _QUICK_KEYS = 20, 1

Labels = Callable[[str], Mapping[str, Mapping[str, str]]]
Scalar = TypeVar("Scalar", np.float64, np.bool_)


@dataclass(frozen=True)
class _Run:
    """One way to publish some people of one set."""

    name: str
    people: str
    """`LONDON` or `CANADA`."""
    rows: tuple[int, ...]
    method: str | None = None
    """None: the originals."""
    preserve: tuple[str, ...] = ()
    neutral_times: int = 1
    pictures: int = 2
    """Of each person, at most; the first is the neutral one."""


@dataclass
class _Tally:
    """How far the measuring is."""

    tell: Callable[[float, str], None]
    total: int
    done: int = field(default=0)

    def tick(self, what: str) -> None:
        """One person more."""
        self.done += 1
        self.tell(self.done / max(self.total, 1), what)


def measure_utility(
    photographs: Callable[[str], list[Photograph]],
    fitting: FitModel,
    gallery: Gallery,
    detect: Detect,
    *,
    quick: bool,
    progress: Callable[[float, str], None],
    labels: Labels | None = None,
) -> list[Chapter]:
    """Five chapters: expression, landmark geometry, attributes, distinguishability, detection.

    photographs: the photographs of "london" and of "canada"; labels: their `info.csv` (`photographs.read_labels`) by
    the same names, without which attributes are not measured. quick: fewer people and keys. `progress` is told the
    share done, 0 to 1, and of what. Raises InputError for sets with too few people, and what `photographs` raises.
    """
    model = fitting.model
    people = {
        LONDON: _people(photographs(LONDON), (NEUTRAL, SMILING)),
        CANADA: _people(photographs(CANADA), (NEUTRAL,)),
    }
    for name, least in ((LONDON, 16), (CANADA, 2)):
        if len(people[name]) < least:
            raise InputError(f"the set {name} has {len(people[name])} usable people; {least} are needed")
    training = np.array([[identity_of(each, model) for each in own] for own in people[LONDON]])
    runs = _runs(len(people[LONDON]), len(people[CANADA]), quick)
    tally = _Tally(progress, sum(len(run.rows) for run in runs))
    results = Results(training, {}, {}, {})
    for run in runs:
        _measure(run, people[run.people], fitting, gallery, detect, tally, results)
    tables = {name: dict(labels(name)) if labels is not None else {} for name in people}
    rows = {
        name: [tables[name].get(own[0].person, {}) for own in people[name]] if tables[name] else [] for name in people
    }
    keys = [_KEY + bytes([number]) for number in range(_QUICK_KEYS if quick else _KEYS)]
    identities = np.array([identity_of(own[0], model) for own in people[CANADA]])
    return [
        expression_chapter(results),
        geometry_chapter(results),
        attribute_chapter(results, rows, gallery),
        distinguishability_chapter(results, identities, gallery, model.variances, keys),
        detection_chapter(results),
    ]


def _people(photographs: Sequence[Photograph], expressions: Sequence[str]) -> list[list[Photograph]]:
    """The people with a picture of each expression, in the order of their names; pictures reduced."""
    found = {(photograph.person, photograph.expression): photograph for photograph in photographs}
    names = sorted({person for person, _ in found})
    complete = [name for name in names if all((name, expression) in found for expression in expressions)]
    return [[reduced(found[name, expression], _WIDTH) for expression in expressions] for name in complete]


def _runs(london: int, canada: int, quick: bool) -> list[_Run]:
    """What is published. Masks, which are no use of this work, are tried on fewer people."""
    everybody = _spaced(london, _QUICK_PEOPLE if quick else london)
    masked = tuple(everybody[i] for i in _spaced(len(everybody), _QUICK_FEW if quick else math.ceil(london / 3)))
    some = masked if quick else everybody
    strangers = tuple(range(canada))
    some_strangers = _spaced(canada, _QUICK_FEW if quick else canada)
    runs = [_Run(ORIGINALS, LONDON, everybody), _Run(ORIGINALS, CANADA, strangers)]
    for method in METHODS:
        runs.append(_Run(method, LONDON, everybody, method))
        runs.append(_Run(method, CANADA, strangers if method == SAMPLED else some_strangers, method))
    runs.append(_Run(SETTLED, LONDON, some, SAMPLED, neutral_times=_SETTLED_TIMES))
    for preserve in (("gender",), ("age",)):
        name = preserving(preserve)
        runs.append(_Run(name, LONDON, some, SAMPLED, preserve, pictures=1))
        runs.append(_Run(name, CANADA, some_strangers, SAMPLED, preserve, pictures=1))
    runs += [_Run(mask, LONDON, masked, mask) for mask in MASKS]
    return runs


def _spaced(count: int, most: int) -> tuple[int, ...]:
    """At most `most` of the numbers below `count`, evenly spaced, odd and even ones alike."""
    return tuple(sorted({round(place) for place in np.linspace(0, count - 1, min(count, most))}))


def _measure(
    run: _Run,
    people: Sequence[Sequence[Photograph]],
    fitting: FitModel,
    gallery: Gallery,
    detect: Detect,
    tally: _Tally,
    results: Results,
) -> None:
    """Publish and measure one run, and enter it into the results."""

    def tick() -> None:
        tally.tick(f"{run.name} ({run.people})")

    chosen = [people[row][: run.pictures] for row in run.rows]
    place = run.people, run.name
    if run.method is None:
        found = refit_originals(chosen, fitting.model, detect, tick)
    else:
        publisher = Publisher(fitting, gallery, run.method, _KEY, preserve=run.preserve)
        found = refit_published(publisher, chosen, fitting.model, detect, tick, neutral_times=run.neutral_times)
        meant = [publisher.vector(number + 1) for number in range(len(chosen))]
        nothing = np.full(len(fitting.model.variances), np.nan)
        vectors = np.array([nothing if vector is None else vector for vector in meant])
        results.surrogates[place] = _placed(vectors, run.rows, len(people))
    results.refits[place] = RefitFaces(
        _placed(found.vectors, run.rows, len(people)),
        _placed(found.landmarks, run.rows, len(people)),
        _placed(found.shown, run.rows, len(people)),
        _placed(found.detected, run.rows, len(people)),
    )
    results.published[place] = len(run.rows)


def _placed(values: NDArray[Scalar], rows: Sequence[int], count: int) -> NDArray[Scalar]:
    """Rows put into their places among `count`; the others are nan, or False."""
    whole = np.zeros((count, *values.shape[1:]), values.dtype)
    if values.dtype != np.bool_:
        whole.fill(np.nan)
    whole[list(rows)] = values
    return whole

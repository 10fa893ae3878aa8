"""Who is who over a whole recording: its tracklets are clustered so that no person appears twice at a time.

This is agglomerative clustering with constraints. The two most similar clusters become one person, as long as they are
similar enough, were never seen together, and neither has a rival: a cluster seen together with one of the two that is
almost as similar to the other (`identity.claims`). In doubt a person is split, which costs a change of the synthetic
face; nobody gets the face of somebody else.

This has two advantages over deciding in the order of the frames. A tracklet is compared by all of its good frames, not
by the first, and the surest pairs are joined first, so that an early mistake of one frame has no further effect.
"""

from __future__ import annotations

import heapq
import math
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

import numpy as np

from streamdeid.core.arrays import Floats
from streamdeid.identity.claims import accepted, torn
from streamdeid.identity.gathered import Gathered
from streamdeid.identity.identity_check import LEAST
from streamdeid.identity.reentry import Outcome
from streamdeid.identity.register import Distances


@dataclass(frozen=True)
class Tracklet:
    """One tracklet of the recording; more than one segment may have seen it."""

    first: int
    last: int
    """Its frames, from the first to the last."""
    gathered: Gathered | None
    """None where nothing is known of it."""
    follows: int | None = None
    """The earlier tracklet that most likely shows the same person."""


@dataclass
class _Cluster:
    tracklets: list[int]
    vector: Floats = field(repr=False)
    """Mean of the templates, each weighted by its good frames."""
    frames: int
    apart: set[int]
    """Tracklets that were seen together with one of these."""


@dataclass(frozen=True)
class Who:
    """The persons of a recording."""

    persons: Mapping[int, int]
    """By tracklet: the person, from 1 in the order of their first frames. Without tracklets too short to tell."""
    counts: Mapping[Outcome, int]
    """How tracklets were assigned."""
    sure: frozenset[int]
    """Persons who can be recognised, and to whom nobody else is near."""


def who_is_who(
    tracklets: Mapping[int, Tracklet], together: Collection[tuple[int, int]], distances: Distances, *, reentry: bool
) -> Who:
    """The persons of a recording.

    tracklets: by number. together: pairs of them that show a face in one frame. distances: how alike templates of one
    person are. reentry: whether somebody who left is recognised; otherwise only a tracklet that follows another one in
    the same track is.
    """
    apart: dict[int, set[int]] = {number: set() for number in tracklets}
    for one, other in together:
        apart[one].add(other)
        apart[other].add(one)
    clusters = {
        number: _Cluster([number], one.gathered.template, max(one.gathered.frames, 1), set(apart[number]))
        for number, one in tracklets.items()
        if one.gathered is not None and one.gathered.template is not None
    }
    follows = {number: one.follows for number, one in tracklets.items() if one.follows is not None}
    uncertain = _join(clusters, follows, distances, reentry)
    groups = [cluster.tracklets for cluster in clusters.values()]
    grouped = {number for group in groups for number in group}
    groups += [[number] for number, one in tracklets.items() if number not in grouped and one.gathered is not None]
    groups = [group for group in groups if not _too_short(group, tracklets, apart)]
    groups.sort(key=lambda group: min((tracklets[number].first, number) for number in group))
    persons = {number: place for place, group in enumerate(groups, 1) for number in group}
    for number in sorted(set(tracklets) - set(persons)):  # too short to tell: the person of the tracklet before it
        before = persons.get(follows.get(number, -1))
        if before is not None and not any(persons.get(other) == before for other in apart[number]):
            persons[number] = before
    counts = Counter(dict.fromkeys((Outcome.NEW, Outcome.RETURNED, Outcome.UNCERTAIN, Outcome.UNSEEN), 0))
    for group in groups:
        seen = group[0] in grouped
        counts[(Outcome.UNCERTAIN if group[0] in uncertain else Outcome.NEW) if seen else Outcome.UNSEEN] += 1
        counts[Outcome.RETURNED] += len(group) - 1
    sure = {persons[group[0]] for group in groups if group[0] in grouped and group[0] not in uncertain}
    return Who(persons, dict(counts), frozenset(sure))


def _too_short(group: Collection[int], tracklets: Mapping[int, Tracklet], apart: Mapping[int, Collection[int]]) -> bool:
    """Whether tracklets have too few good frames to tell their person: 1 to `LEAST` - 1 beside others, where a half
    hidden face misleads (`identity_check`). Alone one frame is enough, and so is a long view of a never clear face."""
    known = [tracklets[number].gathered for number in group]
    frames = sum(one.frames for one in known if one is not None)
    return 0 < frames < LEAST and any(apart[number] for number in group)


def _join(clusters: dict[int, _Cluster], follows: Mapping[int, int], distances: Distances, reentry: bool) -> set[int]:
    """Join clusters, in place, until no two are alike; returns those to which another one is still near."""
    heap: list[tuple[float, int, int]] = []
    version = dict.fromkeys(clusters, 0)
    stamped: dict[tuple[int, int], tuple[int, int]] = {}

    def offer(number: int, others: Collection[int]) -> None:
        for other, distance in zip(others, _distances(clusters, number, others), strict=True):
            likely = _likely(clusters[number], clusters[other], follows)
            accept = distances.accept * (distances.likelier if likely else 1.0)
            if (reentry or likely) and accepted(distance, 0.0, accept):
                pair = min(number, other), max(number, other)
                stamped[pair] = version[pair[0]], version[pair[1]]
                heapq.heappush(heap, (distance, *pair))

    known = sorted(clusters)
    for place, number in enumerate(known):
        offer(number, [other for other in known[:place] if not _seen_together(clusters[number], clusters[other])])
    while heap:
        distance, one, other = heapq.heappop(heap)
        if stamped.get((one, other)) != (version.get(one), version.get(other)):
            continue  # either has changed since, or is gone
        if _torn(clusters, one, other, distance, distances.margin) or _torn(
            clusters, other, one, distance, distances.margin
        ):
            continue
        kept, gone = clusters[one], clusters.pop(other)
        del version[other]
        frames = kept.frames + gone.frames
        kept.vector = (kept.frames * kept.vector + gone.frames * gone.vector) / frames
        kept.frames = frames
        kept.tracklets += gone.tracklets
        kept.apart |= gone.apart
        version[one] += 1
        offer(one, [number for number, rest in clusters.items() if number != one and not _seen_together(kept, rest)])
    left = sorted(clusters)
    return {
        number
        for number in left
        if (
            others := [
                other for other in left if other != number and not _seen_together(clusters[number], clusters[other])
            ]
        )
        and _distances(clusters, number, others).min() < distances.reject
    }


def _torn(clusters: Mapping[int, _Cluster], one: int, other: int, distance: float, margin: float) -> bool:
    """Whether a cluster could equally well be another one that was seen together with its most similar cluster."""
    rivals = [
        number
        for number, rival in clusters.items()
        if number not in (one, other)
        and _seen_together(clusters[other], rival)
        and not _seen_together(clusters[one], rival)
    ]
    return torn(distance, _distances(clusters, one, rivals).tolist(), margin)


def _seen_together(one: _Cluster, other: _Cluster) -> bool:
    return not one.apart.isdisjoint(other.tracklets)


def _likely(one: _Cluster, other: _Cluster, follows: Mapping[int, int]) -> bool:
    """Whether a tracklet of one cluster most likely continues a tracklet of the other."""
    return any(
        follows.get(number, math.nan) in there.tracklets
        for here, there in ((one, other), (other, one))
        for number in here.tracklets
        if number in follows
    )


def _distances(clusters: Mapping[int, _Cluster], number: int, others: Collection[int]) -> Floats:
    """Distances (n,) of a cluster from others."""
    if not others:
        return np.empty(0)
    vectors = np.stack([clusters[other].vector for other in others])
    return np.asarray(np.linalg.norm(vectors - clusters[number].vector, axis=1), np.float64)

"""One trial: one session with a fresh key, and every attack on what it published.

Attack names say what the attacker holds. "Own pairs": he ran the algorithm himself, with another order of triggers.
"Right pairs" and "right key" belong to an attacker who holds the session's key, which no method stands up to.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from streamdeid.core.arrays import Vectors
from streamdeid.lab.attacks import metrics
from streamdeid.lab.attacks.bayes import named_by, suspects
from streamdeid.lab.attacks.frame_averaging import FRAMES, averaged
from streamdeid.lab.attacks.inversion import inverted, shifts_of
from streamdeid.lab.attacks.known_plaintext import INSIDERS, any_shift, nearest_shift, rotation
from streamdeid.lab.attacks.learnt_inversion import Learner, kernel_ridge, learnt, ridge, ridge_by_cluster
from streamdeid.lab.attacks.metrics import Metric, Pairs
from streamdeid.lab.attacks.null_space import projected, residual
from streamdeid.lab.attacks.people import Population
from streamdeid.lab.attacks.publish import PeoplePublisher, Publish
from streamdeid.lab.attacks.scoring import Scored, scored
from streamdeid.surrogates.choice import SAMPLED
from streamdeid.surrogates.fixed_map import FixedMap

HOLDS_KEY = ("right key", "right pairs")
LEARNERS: dict[str, Learner] = {"ridge": ridge, "ridge by cluster": ridge_by_cluster, "kernel ridge": kernel_ridge}


@dataclass(frozen=True)
class Scene:
    """What stays the same from trial to trial."""

    population: Population
    identities: Vectors
    """The people under attack, float64 (n, d)."""
    own_map: FixedMap
    """k-Diff-furthest as the attacker runs it on the reference gallery."""


@dataclass(frozen=True)
class Training:
    """What the attacker has learnt about a method from sessions with other keys."""

    metrics: dict[str, Metric]
    """A1: by name."""
    inversions: dict[str, Metric]
    """A7: by the learner's name."""


@dataclass(frozen=True)
class AttackSession:
    """One trial's captures and what was published of them; rows are people, float64 (n, d)."""

    key: bytes
    seen: Vectors
    photographs: Vectors
    """The attacker's gallery: another capture of everybody."""
    published: Vectors


def holds_key(attack: str) -> bool:
    """Whether this attack is that of somebody who holds the session's key."""
    return any(word in attack for word in HOLDS_KEY)


def train(publish: Publish, scene: Scene, sessions: int, people: int, rng: np.random.Generator) -> Training:
    """Watch `sessions` sessions of `people` others each, and learn from them."""
    parts = [pairs_of(publish, scene.population, people, rng.bytes(32), rng, sparse=False) for _ in range(sessions)]
    pairs = Pairs(
        np.concatenate([part.seen for part in parts]),
        np.concatenate([part.published for part in parts]),
        np.concatenate([part.photographs for part in parts]),
    )
    population = scene.population
    found = {
        "Euclid": metrics.euclid,
        "whitened": metrics.whitened(population),
        "cosine": metrics.cosine(population),
        "LDA": metrics.lda(population, pairs.seen, pairs.photographs),
        "learnt weights": metrics.learnt_weights(population, pairs, rng),
        "furthest": metrics.furthest,
    }
    return Training(found, {name: learnt(learner, pairs, population) for name, learner in LEARNERS.items()})


def pairs_of(
    publish: Publish, population: Population, people: int, key: bytes, rng: np.random.Generator, *, sparse: bool = True
) -> Pairs:
    """Pairs of `people` strangers from a session with this key; those who were not published are left out.

    `sparse`: one at a time, so that thousands fit in one session.
    """
    identities = population.sample(people, rng)
    seen, photographs = population.capture(identities, rng), population.capture(identities, rng)
    publish = publish.to_others if sparse and isinstance(publish, PeoplePublisher) else publish
    published = publish(seen, key)
    made = np.isfinite(published).all(axis=1)
    return Pairs(seen[made], published[made], photographs[made])


def new_session(publish: Publish, scene: Scene, rng: np.random.Generator) -> AttackSession:
    """A session with a fresh key."""
    key = rng.bytes(32)
    seen = scene.population.capture(scene.identities, rng)
    return AttackSession(key, seen, scene.population.capture(scene.identities, rng), publish(seen, key))


def attacks(
    publish: Publish, scene: Scene, training: Training, session: AttackSession, rng: np.random.Generator
) -> dict[str, Scored]:
    """A1 to A6 and A8 on one session, A7 with what other keys have taught; by name, in order."""
    population, published, photographs = scene.population, session.published, session.photographs
    found: dict[str, Vectors] = {}
    for name, metric in training.metrics.items():
        found[f"A1 naive, {name}"] = metric(published, photographs)
    for name in ("Euclid", "whitened"):
        found[f"A2 reverse, {name}"] = training.metrics[name](photographs, published)
    parroted = publish(photographs, rng.bytes(32))
    for name in ("Euclid", "whitened"):
        found[f"A3 parrot, wrong key, {name}"] = training.metrics[name](published, parroted)
    maps = {"own pairs": scene.own_map}
    right = publish.map_of(session.key) if isinstance(publish, PeoplePublisher) else None
    if right is not None:
        found["A3 parrot, right key, whitened"] = training.metrics["whitened"](
            published, publish(photographs, session.key)
        )
        maps["right pairs"] = right
    for whose, fixed in maps.items():
        shifts = shifts_of(fixed)
        found[f"A4 inversion, {whose}, Euclid"] = inverted(published, photographs, shifts)
        found[f"A4 inversion, {whose}, whitened"] = inverted(
            population.whitened(published),
            population.whitened(photographs),
            population.whitened(shifts + population.mean),
        )
        found[f"A5 null space, {whose}"] = projected(published, photographs, fixed, population)
        found[f"A5 residual in cluster, {whose}"] = residual(published, photographs, fixed, population)
    result = {name: scored(distances, rng) for name, distances in found.items()}
    result |= _with_insiders(session, rng)
    for name, metric in training.inversions.items():
        result[f"A7 {name}, other keys"] = scored(metric(published, photographs), rng)
    for frames in FRAMES:
        mean = averaged(published, scene.identities, session.seen, population, frames, rng)
        for name in ("Euclid", "whitened"):
            distances = training.metrics[name](mean, photographs)
            result[f"A8 frames averaged: {frames}, {name}"] = scored(distances, rng)
    return result


def same_key_attacks(
    publish: Publish, scene: Scene, session: AttackSession, count: int, rng: np.random.Generator
) -> dict[str, Scored]:
    """A7 with `count` pairs of others from the session under attack itself."""
    pairs = pairs_of(publish, scene.population, count, session.key, rng)
    return {
        f"A7 {name}, same key": scored(
            learnt(learner, pairs, scene.population)(session.published, session.photographs), rng
        )
        for name, learner in LEARNERS.items()
    }


def attacks_on_sampled(
    publisher: PeoplePublisher, session: AttackSession, replays: int, rng: np.random.Generator
) -> dict[str, Scored]:
    """Attacks on the drawn default alone: the optimal attacker, and one who holds the key.

    The latter draws again, for everybody in his gallery, what the first `replays` who came would have got.
    """
    if publisher.method != SAMPLED:
        return {}
    mask = suspects(publisher, session.seen, session.published, session.key)
    found = {"Bayes, knows the bank and everybody's exact identity": named_by(mask)}
    if replays:
        again = publisher.replayed(session.photographs, session.key, range(1, replays + 1))
        distances = np.full((len(session.published),) * 2, np.nan)
        distances[:replays] = np.linalg.norm(session.published[:replays, None] - again, axis=2)
        found["A3 parrot, right key, order of arrival known"] = scored(distances, rng)
    return found


def _with_insiders(session: AttackSession, rng: np.random.Generator) -> dict[str, Scored]:
    """A6 for each number of insiders; they come first in `order`, so that more insiders hold those of fewer."""
    ways: dict[str, Callable[[Vectors, Vectors, Vectors, Vectors], Vectors]] = {
        "any insider's shift": any_shift,
        "nearest insider's shift": nearest_shift,
        "rotation": rotation,
    }
    made = np.flatnonzero(np.isfinite(session.published).all(axis=1))
    order: NDArray[np.intp] = rng.permutation(made)
    result = {}
    for name, way in ways.items():
        for count in INSIDERS:
            known = order[:count]
            if len(known) == count < len(made):
                distances = way(session.published, session.photographs, session.seen[known], session.published[known])
                result[f"A6 {name}, {count} known"] = scored(distances, rng, known)
    return result

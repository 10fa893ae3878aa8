"""All trials of one method: what every attack, verification and linkage found."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from streamdeid.core.arrays import Vectors
from streamdeid.lab.attacks.experiment import Scene, attacks, attacks_on_sampled, new_session, same_key_attacks, train
from streamdeid.lab.attacks.linkage import linked
from streamdeid.lab.attacks.open_set import Verified, verified
from streamdeid.lab.attacks.publish import PeoplePublisher, Publish
from streamdeid.lab.attacks.scoring import Scored

Progress = Callable[[str], None]


@dataclass(frozen=True)
class Size:
    """How large an experiment is."""

    people: int
    """In the attacker's gallery; as many strangers for the open set."""
    trials: int
    """Sessions under attack, each with its own key."""
    sessions: int
    """Sessions with other keys that the attacker learns from."""
    others: int
    """People in each of those."""
    same_key_trials: int
    """Trials in which he also learns from the session under attack."""
    same_key_pairs: int
    replays: int
    """People of the first trial whom the holder of the key draws again."""


FULL = Size(people=200, trials=20, sessions=10, others=200, same_key_trials=4, same_key_pairs=2000, replays=20)
QUICK = Size(people=200, trials=2, sessions=2, others=150, same_key_trials=1, same_key_pairs=400, replays=1)


@dataclass(frozen=True)
class MethodFindings:
    """What the trials of one method gave."""

    scores: dict[str, list[Scored]] = field(default_factory=dict)
    """By attack; a trial each."""
    verification: dict[str, list[Verified]] = field(default_factory=dict)
    """By metric."""
    links: dict[str, list[Vectors]] = field(default_factory=dict)
    """By kind of session and metric: distances float64 (n, n)."""
    distinct: list[int] = field(default_factory=list)
    """Different surrogates in each session."""
    failed: list[int] = field(default_factory=list)
    """People for whom the method failed closed, in each session."""


def run_trials(
    name: str, publish: Publish, scene: Scene, size: Size, rng: np.random.Generator, progress: Progress | None
) -> MethodFindings:
    """Attack `size.trials` sessions of one method; `progress` hears of each."""
    found = MethodFindings()
    training = train(publish, scene, size.sessions, size.others, rng)
    for trial in range(size.trials):
        if progress is not None:
            progress(f"attacks on {name}: session {trial + 1} of {size.trials}")
        session = new_session(publish, scene, rng)
        result = attacks(publish, scene, training, session, rng)
        if trial < size.same_key_trials:
            result |= same_key_attacks(publish, scene, session, size.same_key_pairs, rng)
        if isinstance(publish, PeoplePublisher):
            result |= attacks_on_sampled(publish, session, 0 if trial else size.replays, rng)
        for attack, score in result.items():
            found.scores.setdefault(attack, []).append(score)
        strangers = scene.population.capture(scene.population.sample(size.people, rng), rng)
        theirs = (
            publish.to_others(strangers, session.key)
            if isinstance(publish, PeoplePublisher)
            else publish(strangers, rng.bytes(32))
        )
        for metric_name, metric in training.metrics.items():
            trials = found.verification.setdefault(metric_name, [])
            trials.append(verified(metric(session.published, session.photographs), metric(theirs, session.photographs)))
        links = linked(publish, scene.population, scene.identities, session.key, session.published, rng)
        for kind, distances in links.items():
            found.links.setdefault(kind, []).append(distances)
        made = np.isfinite(session.published).all(axis=1)
        found.distinct.append(len(np.unique(session.published[made], axis=0)))
        found.failed.append(int((~made).sum()))
    return found

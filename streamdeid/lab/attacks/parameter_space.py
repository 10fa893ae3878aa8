"""The chapter on attacks in the space of identities: every stream method against A1 to A9 and the optimal attacker.

docs/methods.md 3.3. Vectors only: what pictures give away beyond them is another chapter's matter.
"""

from __future__ import annotations

import numpy as np

from streamdeid.core.arrays import Vector, Vectors
from streamdeid.lab.attacks.campaign import FULL, MethodFindings, Progress, Size, run_trials
from streamdeid.lab.attacks.experiment import Scene
from streamdeid.lab.attacks.people import Population
from streamdeid.lab.attacks.publish import PeoplePublisher, Publish
from streamdeid.lab.attacks.results import (
    UNALTERED,
    UNRELATED,
    linkage_table,
    ranks_table,
    sessions_table,
    verification_table,
)
from streamdeid.lab.attacks.verdicts import verdicts
from streamdeid.lab.tables import Chapter
from streamdeid.surrogates.choice import METHODS, SurrogateSettings
from streamdeid.surrogates.fixed_map import k_diff_map
from streamdeid.surrogates.gallery import Gallery

_TEXT = """\
{count} people are {who}; each capture of a person adds noise of 0.3 of the spread between people along every principal
axis. A session sees one capture of everybody and publishes surrogates; the attacker's gallery holds
another capture of the same {count} people. {trials} sessions, each with a fresh key, for every method. Guessing names
{chance:.2%}. Limits are 95 %, from resampling people. Of people at the same distance the attacker names one at random.

What the attacker knows: his gallery (all), and the spread of faces (whitened metrics). In A3 to A5 also the reference
gallery and the algorithm, which he runs with a key of his own ("own pairs", "wrong key"). In A7 "other keys", and for
the LDA metric and the learnt weights of A1, what sessions with other keys published of {others} other people. In A6 and
in A7 "same key" ({same} pairs) other people of the very session. "Right key" and "right pairs" stand for an attacker
who holds the session's key; they are reported, no method is meant to withstand them. "Bayes" knows the drawn method's
bank and every person's exact identity; its average cannot be more than chance / (1 - q).

Surrogates of one person in two sessions are both drawn from what is far from that person, so a drawn method with a
large q links sessions a little, within its guarantee: when pairs are at most 1 / (1 - q) times as likely for one person
as for two, rank-1 is at most chance / (1 - q), the area under the curve (1 + q) / 2, and D_sys q / (2 - q).

"{unaltered}" publishes the capture itself, "{unrelated}" a vector drawn with no regard to the person: the two ends of
the scale."""


def attack_parameters(
    gallery: Gallery,
    variances: Vector,
    *,
    rng_seed: int = 0,
    progress: Progress | None = None,
    people: Vectors | None = None,
    settings: SurrogateSettings | None = None,
    size: Size = FULL,
) -> Chapter:
    """Attack every method of `surrogates.METHODS` and both controls.

    variances float64 (d,): the model's. people float64 (n, d), n > 60: identity vectors of real people instead of
    drawn ones. `settings` hold for all methods but for their name. The same seed gives the same chapter.
    Raises SettingsError and ModelError as `Surrogates` does.
    """
    settings = settings or SurrogateSettings()
    rng = np.random.default_rng(rng_seed)
    donors = gallery.identities
    # Real people differ also where donors do not: they belong to the population that captures and whitening rest on.
    population = Population.of(donors if people is None else np.concatenate([donors, people]))
    identities = population.sample(size.people, rng) if people is None else people
    scene = Scene(population, identities, k_diff_map(donors, settings.k, rng))
    publishers: dict[str, Publish] = {name: PeoplePublisher(name, gallery, variances, settings) for name in METHODS}
    publishers[UNALTERED] = lambda seen, _key: seen
    publishers[UNRELATED] = lambda seen, key: population.sample(len(seen), np.random.default_rng(list(key)))
    found: dict[str, MethodFindings] = {}
    for name, publish in publishers.items():
        found[name] = run_trials(name, publish, scene, size, rng, progress)
    chance = 1.0 / len(identities)
    text = _TEXT.format(
        count=len(identities),
        who="drawn from a Gaussian with the donors' covariance"
        if people is None
        else "real; the spread is theirs and the donors'",
        trials=size.trials,
        chance=chance,
        others=size.sessions * size.others,
        same=size.same_key_pairs,
        unaltered=UNALTERED,
        unrelated=UNRELATED,
    )
    tables = (
        ranks_table("Rank-1 re-identification", found, 1, rng),
        ranks_table("Rank-5 re-identification", found, 5, rng),
        verification_table(found, rng),
        linkage_table(found, rng),
        sessions_table(found),
    )
    return Chapter(
        "attacks-on-parameters",
        "Attacks in the space of identities",
        text,
        tables,
        tuple(verdicts(found, settings.q, len(identities), rng)),
    )

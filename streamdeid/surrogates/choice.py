"""Chooses the surrogates of a stream: the vector P that is published instead of a person's identity y (architecture.md
3).

The default method, `k-diff-furthest`, samples. A bank of m candidates is sampled with the key, independently of the
people who will be seen (`surrogates.bank`). For each person the nearest fraction q of them is excluded, and rejection
sampling picks one of the rest: attempt t of person p proposes the candidate that the key gives for (p, t), whoever p
is.

Why the guarantee holds (docs/methods.md 2.2, G2). Bank and proposals do not depend on y. Exactly ⌊q m⌋ candidates are
excluded for every y, so a person shows any candidate with probability at most 1 / (m − ⌊q m⌋). An unknown person shows
it with probability 1 / m. The first over the second is `Surrogates.factor`, at most 1 / (1 − q). By Bayes' rule that
bounds an attacker's gain, on average over the samples, for every recogniser, gallery and computing power, even if he
knows the bank. It is exact, not an estimate: the fraction q is counted in the bank itself. Faces already in use are
excluded too, which adds a small term through the other people present. Preserved attributes choose among several banks.
Whatever an attacker knows beforehand, his gain is at most the sum, over all P, of the largest probability of P for
anybody. With several banks that sum is larger by their number.

Two demands of k-Diff-furthest are given up for this. The person's close cluster does not take part in growing the far
one, and the clusters' overlap is not tested: both would let y decide P. The test only serves to prove that some donor
is nearer to P than y is; the certificate checks exactly that. P itself is far from y, not each of its k donors.

A person who has to be shown before y is known gets a provisional surrogate: a candidate that the key gives for the
number of the tracklet, among all free candidates, which are the same for everybody. The person keeps it when it becomes
known who that is, and it is never tested against y: a test with a visible outcome would tell something of y
(docs/methods.md 2.2). So the factor of such a surrogate is 1, but it may be one of the nearest.

Capacity. A surrogate is at least δ from all others in use. When none is found in `attempts` proposals, δ shrinks to
four fifths (logged and counted), up to eight times; after that the person gets none (FailedClosed). With 102 donors and
the default bank, 200 people fit at full δ (tests/surrogates/test_surrogates.py).
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

from streamdeid.core.arrays import Flags, Vector, Vectors
from streamdeid.errors import FailedClosed, ModelError, SettingsError
from streamdeid.surrogates.attributes import (
    EITHER,
    GENDER,
    Discriminant,
    Leakage,
    class_leakage,
    donors_of_class,
    possible_classes,
    rule_for,
    shows_beard,
)
from streamdeid.surrogates.bank import Accept, Bank, excluded_count, sample_bank
from streamdeid.surrogates.banks import Banks
from streamdeid.surrogates.certificate import DONOR_MARGIN, SEPARATION, Limits, Plausibility, certify, default_limits
from streamdeid.surrogates.fixed_map import FixedMap
from streamdeid.surrogates.gallery import Gallery
from streamdeid.surrogates.key import check_key, generator, new_key
from streamdeid.surrogates.provisional import Provisional
from streamdeid.surrogates.surrogate import LEAST_Q, MAPS, METHODS, MOST_Q, SAMPLED, Surrogate, SurrogateSettings

__all__ = ["LEAST_Q", "MAPS", "METHODS", "MOST_Q", "SAMPLED", "Surrogate", "SurrogateSettings", "Surrogates"]

# The papers' maps shift and share as printed; only what their own theorem claims is enforced on them.
_ENFORCED = {
    "k-diff-furthest-paper": frozenset({DONOR_MARGIN, SEPARATION}),
    "k-same-furthest": frozenset({DONOR_MARGIN}),
    "k-same-m": frozenset[str](),
}
_SHRINK, _SHRINKINGS = 0.8, 8
_MOST_PROPOSALS = 1 << 20
"""Number of proposals that is never reached for one person."""
PROVISIONAL, KEPT = "provisional", "provisional kept"
"""Names of two counts: tracklets that got a provisional surrogate, and persons who kept theirs."""
PROVISIONAL_FACTOR = 1.0
"""Factor by which a view of a provisional surrogate can raise the chance of naming a person: it depends on nobody."""
_log = logging.getLogger(__name__)


class Surrogates:
    """The table person → surrogate of one session. It never derives the surrogate of a known person again."""

    def __init__(
        self,
        gallery: Gallery,
        variances: Vector,
        settings: SurrogateSettings | None = None,
        key: bytes | None = None,
    ) -> None:
        """Choose from `gallery`; `variances` float64 (d,) are the model's, in the units of the identities.

        Without a key fresh random bytes are used and forgotten at the end. Raises SettingsError (key too short, too few
        donors for k, unknown attribute) and ModelError (gallery and model do not fit together). Where attributes are
        preserved, the latter may only be found when a person of the class appears; `surrogate` then raises it.
        """
        self._settings = settings or SurrogateSettings()
        self._key = new_key() if key is None else check_key(key)
        self._donors = gallery.identities
        if variances.shape != self._donors.shape[1:]:
            raise SettingsError(f"{len(variances)} variances do not fit identities of {self._donors.shape[1]} values")
        self._plausibility = Plausibility.of(self._donors, variances)
        self._limits = self._settings.limits or default_limits(self._donors, self._plausibility)
        preserve = self._settings.preserve
        self._rules: list[Discriminant] = [rule_for(gallery, attribute) for attribute in preserve]
        self._leakage = class_leakage(gallery, preserve, self._rules)
        self._classes = possible_classes(self._rules)
        self._maps: dict[str, FixedMap] = {}
        self._anybody = EITHER if GENDER in preserve else ""
        """The class of provisional surrogates: with it no gender can be misread, and none is told."""
        makes: dict[str, Callable[[], Bank]] = {}
        blind = {self._anybody} if self._settings.method == SAMPLED else set()
        for label in sorted(self._classes | blind):
            kept = preserve if label != self._anybody else preserve[:0] if label == "" else (GENDER,)
            rules = [rule for rule, name in zip(self._rules, preserve, strict=True) if name in kept]
            unsure = [rule.unsure for rule, name in zip(rules, label.split(", "), strict=False) if name == EITHER]
            donors = donors_of_class(gallery, kept, label, rules)
            if len(donors) < self._settings.k:
                of = f" of class {label!r}" if label else ""
                raise SettingsError(f"the gallery has {len(donors)} donors{of}, fewer than k = {self._settings.k}")
            rng = generator(self._key, f"prepare {self._settings.method} {label}")
            if self._settings.method == SAMPLED:
                makes[label] = partial(self._sampled_bank, donors, rng, *unsure)
            else:
                self._maps[label] = MAPS[self._settings.method](donors, self._settings.k, rng)
        self._banks = Banks(makes)
        if len(makes) == 1:
            self._banks[next(iter(makes))]
        self._table: dict[int, Surrogate] = {}
        self._provisional = Provisional(self._settings.bank_size)
        self._elsewhere: Vectors = np.empty((0, self._donors.shape[1]))
        self.counts: Counter[str] = Counter()
        """How often each happened: "chosen", "separation relaxed" (each step), "failed closed", PROVISIONAL, KEPT."""

    @property
    def factor(self) -> float:
        """Factor by which a view of P can raise the chance of naming a person, on average; infinite for fixed maps.

        The leakage of preserved attributes is not in it: multiply by `classes`, on average over people, or by 2 **
        leakage.worst for a person of the rarest class.
        """
        if self._settings.method != SAMPLED:
            return float("inf")
        size = self._settings.bank_size
        return size / (size - excluded_count(size, self._settings.q))

    @property
    def leakage(self) -> Leakage:
        """Leakage that the preserved attributes cost."""
        return self._leakage

    @property
    def classes(self) -> int:
        """Number of classes that the preserved attributes make; 1 without any. Each class has a bank of its own. What P
        tells of a person is bounded by `factor` for each bank: by classes · `factor` in all, on average over all people
        and samples, whatever was known beforehand."""
        return len(self._classes)

    @property
    def limits(self) -> Limits:
        """The limits of the certificates, before any relaxing."""
        return self._limits

    @property
    def bank(self) -> Bank | None:
        """The bank that is sampled from; None for a fixed map and with preserved attributes. It is as secret as the
        key, and is here for attacks by somebody who holds the key."""
        return None if self._settings.preserve or self._settings.method != SAMPLED else self._banks[""]

    @property
    def fixed_map(self) -> FixedMap | None:
        """The fixed map; None when the method samples, and with preserved attributes. It is as secret as the key."""
        return self._maps.get("")

    def surrogate(self, person: int, y: Vector, sampled_for: int | None = None) -> Surrogate:
        """The surrogate of a person: from the table, or chosen now for identity y, float64 (d,).

        sampled_for: the number that it is sampled for, where persons of other runs with the same key have the same
        numbers: the same number gives the same face. Raises FailedClosed when y is not finite or no surrogate can be
        certified; the person then stays unknown.
        """
        known = self._table.get(person)
        if known is not None:
            return known
        if y.shape != self._donors.shape[1:] or not np.isfinite(y).all():
            self.counts["failed closed"] += 1
            raise FailedClosed(f"identity of person {person} is no finite vector of the model")
        label = ", ".join(rule.estimate(y) for rule in self._rules)
        try:
            if self._settings.method == SAMPLED:
                chosen = self._sample(person, y, label, person if sampled_for is None else sampled_for)
            else:
                chosen = self._map(person, y, label)
        except FailedClosed:
            self.counts["failed closed"] += 1
            raise
        chosen.vector.setflags(write=False)
        self._table[person] = chosen
        self.counts["chosen"] += 1
        return chosen

    def again(self, person: int, label: str, attempt: int, provisional: int | None = None) -> Surrogate:
        """The surrogate that a person of a class got by a proposal (from 0) of an earlier run with this key.

        It was certified then; only key, class and numbers lead to it, so y need not be known. provisional: the number
        of the tracklet that it was proposed for, where it was provisional first. Raises FailedClosed when there was no
        such proposal.
        """
        known = self._table.get(person)
        if known is None:
            number = person if provisional is None else provisional
            known = self._table[person] = self._again(label, number, attempt, self._in_use(person), provisional)
        return known

    def provisional(self, number: int) -> Surrogate:
        """The surrogate that a tracklet, by number, shows while its person is not known.

        It stays the same until it is released or adopted. Raises FailedClosed where none is free, and for a fixed map,
        which needs a person's y.
        """
        known = self._provisional.get(number)
        if known is not None:
            return known
        if self._settings.method != SAMPLED:
            raise FailedClosed(f"{self._settings.method} has no face for somebody of whom nothing is known")
        try:
            self._banks[self._anybody]
        except ModelError as error:
            raise FailedClosed(f"nobody can have a provisional surrogate: {error}") from error
        free, in_use = self._provisional.free, self._in_use(None)
        chosen = self._provisional.put(number, *self._first(self._anybody, number, free, None, in_use, number))
        self.counts[PROVISIONAL] += 1
        return chosen

    def provisional_again(self, number: int, label: str, attempt: int) -> Surrogate:
        """The provisional surrogate that a tracklet got by a proposal (from 0) of an earlier run with this key. Raises
        FailedClosed when there was no such proposal."""
        known = self._provisional.get(number)
        if known is None:
            known = self._again(label, number, attempt, self._in_use(None), number)
            size = len(self._banks[label].candidates)
            self._provisional.put(number, known, self._proposal(_purpose(label, number), number, attempt, size))
        return known

    def adopt(self, number: int, person: int, y: Vector | None = None) -> Surrogate:
        """The surrogate of the person whom a tracklet with a provisional surrogate turned out to show.

        A known person has one. Anybody else keeps the provisional one, untested, so that what is seen tells nothing of
        y (d,); y is not used. Raises KeyError where the tracklet has none.
        """
        known = self._table.get(person)
        if known is None:
            known = self._table[person] = self._provisional.take(number)
            self.counts[KEPT] += 1
        return known

    def release(self, number: int) -> None:
        """Release the provisional surrogate of a tracklet that is over, unless a person kept it."""
        self._provisional.release(number)

    def given(self, person: int, y: Vector, vector: Vector, label: str) -> Surrogate | None:
        """The surrogate, float64 (d,), that a person of a class got in another run with this key and these settings;
        None where it is too similar to one in use here: the person then needs another one.

        It was certified then, for the y of that time; here its distance from the others is checked. y (d,) may be any
        estimate. Raises FailedClosed when the vector or the class does not belong to these models.
        """
        if person in self._table:
            return self._table[person]
        if vector.shape != self._donors.shape[1:] or label not in self._classes | {self._anybody}:
            raise FailedClosed(f"the surrogate of person {person} is none of these models")
        in_use, limits = self._in_use(person), self._limits
        certificate = certify(vector, y, self._donors, in_use, self._plausibility, limits)
        if SEPARATION in certificate.failures:
            return None
        vector = vector.copy()
        vector.setflags(write=False)
        settings, beard = self._settings, shows_beard(label, self._settings.preserve)
        self._table[person] = Surrogate(vector, certificate, settings.method, 1, settings.k, label, beard)
        return self._table[person]

    def keep_apart_from(self, vectors: Vectors) -> None:
        """From now on, choose none that is like these (n, d) of other runs, as long as others can be found."""
        self._elsewhere = vectors

    def _proposal(self, purpose: str, number: int, attempt: int, size: int) -> int:
        """The number of the candidate that is proposed, of so many: it depends on the key, purpose and numbers
        alone."""
        return int(generator(self._key, purpose, number, attempt).integers(size))

    def sample_ahead(self) -> None:
        """Sample in a thread the banks that would otherwise be sampled when the first person of a class appears."""
        self._banks.sample_ahead()

    def __contains__(self, person: int) -> bool:
        """Whether a person has a surrogate."""
        return person in self._table

    def forget(self, person: int) -> None:
        """Drop a person who will not come back; the place in the identity space becomes free."""
        self._table.pop(person, None)

    def __len__(self) -> int:
        """Number of people in the table."""
        return len(self._table)

    def _sampled_bank(self, donors: Vectors, rng: np.random.Generator, accept: Accept | None = None) -> Bank:
        chosen = self._settings
        limits, size = self._limits, chosen.bank_size
        return sample_bank(donors, self._donors, self._plausibility, limits, chosen.k, chosen.q, size, rng, accept)

    def _in_use(self, person: int | None) -> Vectors:
        others = [chosen.vector for number, chosen in self._table.items() if number != person]
        others += self._provisional.vectors
        return np.stack(others) if others else np.empty((0, self._donors.shape[1]))

    def _relaxed_limits(self, person: int) -> Iterator[Limits]:
        """The limits, then the same with a smaller and smaller δ: only δ is relaxed, and that is logged and counted."""
        yield self._limits
        for step in range(1, _SHRINKINGS + 1):
            share = _SHRINK**step
            self.counts["separation relaxed"] += 1
            _log.warning("number %d: surrogates may be %.0f %% as far apart as they should be", person, 100 * share)
            yield self._limits.with_separation(self._limits.separation * share)

    def _demands(self, person: int, in_use: Vectors) -> Iterator[tuple[Limits, Vectors]]:
        """Limits, and vectors (n, d) to keep apart from; those of other runs are included only while there is room for
        it."""
        if len(self._elsewhere):
            yield self._limits, np.concatenate([in_use, self._elsewhere])
            self.counts["like one of another run"] += 1
        yield from ((limits, in_use) for limits in self._relaxed_limits(person))

    def _sample(self, person: int, y: Vector, label: str, sampled_for: int) -> Surrogate:
        bank = self._banks[label]
        allowed, failing = bank.allowed(y, self._settings.q, self._limits.donor_margin)
        if failing > excluded_count(len(allowed), self._settings.q):
            raise FailedClosed(f"person {person} is nearer to most candidates than any donor is")
        return self._first(label, sampled_for, allowed, y, self._in_use(person))[0]

    def _first(
        self, label: str, number: int, allowed: Flags, y: Vector | None, in_use: Vectors, provisional: int | None = None
    ) -> tuple[Surrogate, int]:
        """The first surrogate proposed for a number that is allowed and passes the certificate, and its number in the
        bank. y: None where nothing is known of the person."""
        bank, purpose, attempt = self._banks[label], _purpose(label, provisional), 0
        for limits, others in self._demands(number, in_use):
            for _ in range(self._settings.attempts):
                proposed = self._proposal(purpose, number, attempt, len(allowed))
                attempt += 1
                if not allowed[proposed]:
                    continue
                vector = bank.candidates[proposed].copy()
                certificate = certify(vector, y, self._donors, others, self._plausibility, limits)
                if not certificate.failures:
                    vector.setflags(write=False)
                    size, beard = self._settings.k, shows_beard(label, self._settings.preserve)
                    return Surrogate(vector, certificate, SAMPLED, attempt, size, label, beard, provisional), proposed
        raise FailedClosed(f"no surrogate is free for number {number}: {len(in_use)} are in use")

    def _again(self, label: str, number: int, attempt: int, in_use: Vectors, provisional: int | None) -> Surrogate:
        """The surrogate that was once proposed for a number. Raises FailedClosed when it cannot have been."""
        labels = self._classes if provisional is None else {self._anybody}
        if self._settings.method != SAMPLED or label not in labels or not 0 <= attempt < _MOST_PROPOSALS:
            raise FailedClosed(f"no surrogate of number {number} was chosen so")
        bank = self._banks[label]
        place = self._proposal(_purpose(label, provisional), number, attempt, len(bank.candidates))
        vector = bank.candidates[place].copy()
        certificate = certify(vector, None, self._donors, in_use, self._plausibility, self._limits)
        vector.setflags(write=False)
        size, beard = self._settings.k, shows_beard(label, self._settings.preserve)
        return Surrogate(vector, certificate, SAMPLED, attempt + 1, size, label, beard, provisional)

    def _map(self, person: int, y: Vector, label: str) -> Surrogate:
        fixed, method = self._maps[label], self._settings.method
        in_use = self._in_use(person)
        attempt = 0
        for limits in self._relaxed_limits(person):
            for cell in fixed.cells(y):
                attempt += 1
                vector = fixed.output(y, cell)
                certificate = certify(vector, y, self._donors, in_use, self._plausibility, limits)
                if not certificate.failures & _ENFORCED[method]:
                    size, beard = fixed.sizes[cell], shows_beard(label, self._settings.preserve)
                    return Surrogate(vector, certificate, method, attempt, size, label, beard)
        raise FailedClosed(f"no cluster gives person {person} a surrogate that differs enough")


def _purpose(label: str, provisional: int | None) -> str:
    """The purpose of proposals: for a person of a class, or for a tracklet whose person is not known."""
    return f"surrogate {label}" if provisional is None else f"provisional {label}"

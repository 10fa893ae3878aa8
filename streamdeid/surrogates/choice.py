"""Surrogates of a stream: which vector P is published instead of a person's identity y (docs/architecture.md 3).

The default method, `k-diff-furthest`, samples. A bank of m candidates is sampled with the key, whoever will be seen
(`surrogates.bank`). For each person the nearest fraction q of them is ruled out, and rejection sampling picks one of
the rest: attempt t of person p proposes the candidate that the key gives for (p, t), whoever p is.

Why the guarantee holds (docs/methods.md 2.2, G2). Bank and proposals do not depend on y. Exactly ⌊q m⌋ candidates are
ruled out for every y, so a person shows any candidate with probability at most 1 / (m − ⌊q m⌋), which is
`Surrogates.factor` ≤ 1 / (1 − q) times the 1 / m of a person unknown. By Bayes' rule that bounds an attacker's gain,
on average over the samples, for every recogniser, gallery and computing power, even if he knows the bank. It is exact,
not an estimate: the bank itself is the population of the quantile. Faces already in use are ruled out too, which adds a
small term through the other people present. Attributes preserved choose among several banks: the sum over P of the
largest probability of P for anybody, which bounds the gain whatever is known beforehand, is then the number of banks
times as large.

Two demands of k-Diff-furthest give way to this. The person's close cluster does not take part in growing the far one,
and the clusters' overlap is not tested: both would let y decide P. The test only serves to prove that some donor is
nearer to P than y is; the certificate checks just that. Far means that P itself is far, not each of its k donors.

Capacity. A surrogate is at least δ from all others in use. When none is found in `attempts` proposals δ shrinks to four
fifths (logged and counted), up to eight times; after that the person gets none (FailedClosed). With 102 donors and the
default bank 200 people fit at full δ (tests/surrogates/test_surrogates.py).
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from streamdeid.errors import FailedClosed, SettingsError
from streamdeid.k_same.clusters import Vector, Vectors
from streamdeid.surrogates.attributes import (
    EITHER,
    GENDER,
    Discriminant,
    Leakage,
    class_leakage,
    donors_of_class,
    rule_for,
)
from streamdeid.surrogates.bank import Accept, Bank, excluded_count, sample_bank
from streamdeid.surrogates.banks import Banks
from streamdeid.surrogates.certificate import (
    DONOR_MARGIN,
    SEPARATION,
    Certificate,
    Limits,
    Plausibility,
    certify,
    default_limits,
)
from streamdeid.surrogates.fixed_map import FixedMap, k_diff_map, k_same_furthest_map, k_same_m_map
from streamdeid.surrogates.gallery import Gallery
from streamdeid.surrogates.key import check_key, generator, new_key

SAMPLED = "k-diff-furthest"
MAPS = {"k-diff-furthest-paper": k_diff_map, "k-same-furthest": k_same_furthest_map, "k-same-m": k_same_m_map}
METHODS = (SAMPLED, *MAPS)

# The papers' maps shift and share as printed; only what their own theorem claims is enforced on them.
_ENFORCED = {
    "k-diff-furthest-paper": frozenset({DONOR_MARGIN, SEPARATION}),
    "k-same-furthest": frozenset({DONOR_MARGIN}),
    "k-same-m": frozenset[str](),
}
LEAST_Q, MOST_Q = 0.1, 0.6
"""Below, more than q of the candidates may fail the certificate, and then nobody gets a surrogate. Above, a candidate
is far for few people, and those that are far for too few are refused: of 5,735 sampled from the shipped gallery 3,610
pass at q = 0.5, 726 at 0.6, 26 at 0.7 and 4 at 0.8."""
_SHRINK, _SHRINKINGS = 0.8, 8
_MOST_PROPOSALS = 1 << 20
"""More than are ever made for a person."""
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class SurrogateSettings:
    """How surrogates are chosen. Raises SettingsError for values that make no sense."""

    method: str = SAMPLED
    k: int = 5
    """Donors in a cluster."""
    q: float = 0.5
    """Share of the candidates, the nearest, that a person never gets; LEAST_Q to MOST_Q."""
    preserve: tuple[str, ...] = ()
    """Attributes that a surrogate shares with the person (`attributes.ATTRIBUTES`). The product asks for gender
    (`Settings.preserve`); here nothing is kept that is not named."""
    bank_size: int = 4096
    attempts: int = 1000
    """Proposals at each δ."""
    limits: Limits | None = None
    """None = measured on the gallery (`certificate.default_limits`)."""

    def __post_init__(self) -> None:
        if self.method not in METHODS:
            raise SettingsError(f"unknown method {self.method!r}: choose from {', '.join(METHODS)}")
        if self.k < 2:
            raise SettingsError(f"k must be at least 2, not {self.k}")
        if not LEAST_Q <= self.q <= MOST_Q:
            raise SettingsError(f"q must be from {LEAST_Q} to {MOST_Q}, not {self.q}")
        if self.bank_size < 100 or self.attempts < 1:
            raise SettingsError("a bank needs at least 100 candidates and a person at least one attempt")
        if len(set(self.preserve)) != len(self.preserve):
            raise SettingsError(f"an attribute to preserve is named twice: {', '.join(self.preserve)}")


@dataclass(frozen=True)
class Surrogate:
    """What is published instead of a person's identity, for as long as the person is remembered."""

    vector: Vector = field(repr=False)
    """P, float64 (d,), read-only. Kept out of every repr, as all that is biometric."""
    certificate: Certificate
    method: str
    attempts: int
    """Proposals it took, from 1."""
    cluster_size: int
    """Donors whose mean is at the heart of P."""
    preserved: str = ""
    """The class shared with the person, such as "female, 25-34"; empty without `preserve`."""
    beard: bool = True
    """Whether what is dark about the mouth may be shown. Where gender is preserved only men's faces have it: what the
    donors' mean leaves of it looks like dirt on a woman, and like a shadow on a face that passes for both."""


class Surrogates:
    """The table person → surrogate of one session. Never derives the surrogate of a known person again."""

    def __init__(
        self,
        gallery: Gallery,
        variances: Vector,
        settings: SurrogateSettings | None = None,
        key: bytes | None = None,
    ) -> None:
        """Choose from `gallery`; `variances` float64 (d,) are the model's, in the units of the identities.

        Without a key fresh random bytes are used and forgotten at the end. Raises SettingsError (key too short, too few
        donors for k, unknown attribute) and ModelError (gallery and model do not fit together; where attributes are
        preserved, that may only be found when somebody of the class appears, and is raised by `surrogate`).
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
        self._maps: dict[str, FixedMap] = {}
        makes: dict[str, Callable[[], Bank]] = {}
        for label in sorted(self._possible_classes()):
            unsure = [rule.unsure for rule, name in zip(self._rules, label.split(", "), strict=False) if name == EITHER]
            donors = donors_of_class(gallery, preserve, label, self._rules)
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
        self._elsewhere: Vectors = np.empty((0, self._donors.shape[1]))
        self.counts: Counter[str] = Counter()
        """How often: "chosen", "separation relaxed" (each step), "failed closed"."""

    @property
    def factor(self) -> float:
        """By how much looking at P can raise the chance of naming a person, on average; infinite for fixed maps.

        Without the leakage of preserved attributes, which comes on top: multiply by `classes`, on average over people,
        or by 2 ** leakage.worst for somebody of the rarest class.
        """
        if self._settings.method != SAMPLED:
            return float("inf")
        size = self._settings.bank_size
        return size / (size - excluded_count(size, self._settings.q))

    @property
    def leakage(self) -> Leakage:
        """What the preserved attributes cost."""
        return self._leakage

    @property
    def classes(self) -> int:
        """Classes that the preserved attributes make; 1 without any. Each has a bank of its own, so what P tells of who
        it is, is at most `factor` times as much as nothing for each of them: classes · `factor`, on average over all
        people and samples, whatever was known beforehand."""
        return len(self._possible_classes())

    @property
    def limits(self) -> Limits:
        """The limits of the certificates, before any relaxing."""
        return self._limits

    @property
    def bank(self) -> Bank | None:
        """What is sampled from; None for a fixed map and with preserved attributes. As secret as the key: it is here
        for attacks by somebody who holds that."""
        return self._banks[""] if "" in self._banks.labels else None

    @property
    def fixed_map(self) -> FixedMap | None:
        """Where a fixed map takes people; None when it samples and with preserved attributes. Secret likewise."""
        return self._maps.get("")

    def surrogate(self, person: int, y: Vector, drawn: int | None = None) -> Surrogate:
        """The surrogate of a person: from the table, or chosen now for identity y, float64 (d,).

        drawn: number that it is drawn for, where persons of other runs with the same key have the same numbers: the
        same number draws the same face. Raises FailedClosed when y is not finite or no surrogate can be certified; the
        person stays unknown.
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
                chosen = self._sample(person, y, label, person if drawn is None else drawn)
            else:
                chosen = self._map(person, y, label)
        except FailedClosed:
            self.counts["failed closed"] += 1
            raise
        chosen.vector.setflags(write=False)
        self._table[person] = chosen
        self.counts["chosen"] += 1
        return chosen

    def again(self, person: int, label: str, attempt: int) -> Surrogate:
        """The surrogate that a person of a class got by a proposal (from 0) of an earlier run with this key.

        It was certified then; nothing but key, class and numbers leads to it, so y need not be known. Raises
        FailedClosed when there was no such proposal.
        """
        known = self._table.get(person)
        if known is not None:
            return known
        if self._settings.method != SAMPLED or label not in self._banks.labels or not 0 <= attempt < _MOST_PROPOSALS:
            raise FailedClosed(f"no surrogate of person {person} was chosen so")
        bank, limits = self._banks[label], self._limits
        vector = bank.candidates[self._proposal(label, person, attempt, len(bank.candidates))].copy()
        certificate = certify(vector, vector, self._donors, self._in_use(person), self._plausibility, limits)
        certificate = replace(certificate, donor_margin=float("nan"))  # as far as it can be measured without y
        vector.setflags(write=False)
        size, beard = self._settings.k, self._bearded(label)
        self._table[person] = Surrogate(vector, certificate, SAMPLED, attempt + 1, size, label, beard)
        return self._table[person]

    def given(self, person: int, y: Vector, vector: Vector, label: str) -> Surrogate | None:
        """The surrogate, float64 (d,), that a person of a class got in another run with this key and these settings;
        None where it is too much like one in use here, for then the person needs another one.

        It was certified then, for the y of that time; here its distance from the others is. y (d,) may be any estimate.
        """
        if person in self._table:
            return self._table[person]
        if vector.shape != self._donors.shape[1:] or label not in self._possible_classes():
            raise FailedClosed(f"the surrogate of person {person} is none of these models")
        in_use, limits = self._in_use(person), self._limits
        certificate = certify(vector, y, self._donors, in_use, self._plausibility, limits)
        if SEPARATION in certificate.failures:
            return None
        vector = vector.copy()
        vector.setflags(write=False)
        settings, beard = self._settings, self._bearded(label)
        self._table[person] = Surrogate(vector, certificate, settings.method, 1, settings.k, label, beard)
        return self._table[person]

    def keep_apart_from(self, vectors: Vectors) -> None:
        """Choose, from now on, none that is like these (n, d) of other runs, as long as others can be found."""
        self._elsewhere = vectors

    def _proposal(self, label: str, person: int, attempt: int, size: int) -> int:
        """Which of so many candidates is proposed: a matter of the key, class and numbers alone."""
        return int(generator(self._key, f"surrogate {label}", person, attempt).integers(size))

    def sample_ahead(self) -> None:
        """Sample in a thread what would otherwise be sampled when the first person of a class appears."""
        self._banks.sample_ahead()

    def __contains__(self, person: int) -> bool:
        """Whether a person has a surrogate."""
        return person in self._table

    def forget(self, person: int) -> None:
        """Drop a person who will not come back; the place in the identity space becomes free."""
        self._table.pop(person, None)

    def __len__(self) -> int:
        """People in the table."""
        return len(self._table)

    def _possible_classes(self) -> set[str]:
        labels = {""}
        for rule in self._rules:
            labels = {", ".join(filter(None, (label, name))) for label in labels for name in rule.classes}
        return labels

    def _bearded(self, label: str) -> bool:
        """`Surrogate.beard` of a class."""
        preserve = self._settings.preserve
        return GENDER not in preserve or label.split(", ")[preserve.index(GENDER)] == "male"

    def _sampled_bank(self, donors: Vectors, rng: np.random.Generator, accept: Accept | None = None) -> Bank:
        chosen = self._settings
        limits, size = self._limits, chosen.bank_size
        return sample_bank(donors, self._donors, self._plausibility, limits, chosen.k, chosen.q, size, rng, accept)

    def _in_use(self, person: int) -> Vectors:
        others = [chosen.vector for number, chosen in self._table.items() if number != person]
        return np.stack(others) if others else np.empty((0, self._donors.shape[1]))

    def _relaxed_limits(self, person: int) -> Iterator[Limits]:
        """The limits, then with a smaller and smaller δ: only δ gives way, and that is logged and counted."""
        yield self._limits
        for step in range(1, _SHRINKINGS + 1):
            share = _SHRINK**step
            self.counts["separation relaxed"] += 1
            _log.warning("person %d: surrogates may be %.0f %% as far apart as they should be", person, 100 * share)
            yield self._limits.with_separation(self._limits.separation * share)

    def _demands(self, person: int, in_use: Vectors) -> Iterator[tuple[Limits, Vectors]]:
        """Limits, and vectors (n, d) to keep apart from: those of other runs only as long as there is room for it."""
        if len(self._elsewhere):
            yield self._limits, np.concatenate([in_use, self._elsewhere])
            self.counts["like one of another run"] += 1
        yield from ((limits, in_use) for limits in self._relaxed_limits(person))

    def _sample(self, person: int, y: Vector, label: str, drawn: int) -> Surrogate:
        bank = self._banks[label]
        allowed, failing = bank.allowed(y, self._settings.q, self._limits.donor_margin)
        if failing > excluded_count(len(allowed), self._settings.q):
            raise FailedClosed(f"person {person} is nearer to most candidates than any donor is")
        in_use = self._in_use(person)
        attempt = 0
        for limits, others in self._demands(person, in_use):
            for _ in range(self._settings.attempts):
                proposed = self._proposal(label, drawn, attempt, len(allowed))
                attempt += 1
                if not allowed[proposed]:
                    continue
                vector = bank.candidates[proposed].copy()
                certificate = certify(vector, y, self._donors, others, self._plausibility, limits)
                if not certificate.failures:
                    beard = self._bearded(label)
                    return Surrogate(vector, certificate, SAMPLED, attempt, self._settings.k, label, beard)
        raise FailedClosed(f"no surrogate is free for person {person}: {len(in_use)} are in use")

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
                    size, beard = fixed.sizes[cell], self._bearded(label)
                    return Surrogate(vector, certificate, method, attempt, size, label, beard)
        raise FailedClosed(f"no cluster gives person {person} a surrogate that differs enough")

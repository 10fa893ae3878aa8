"""A surrogate, and the settings by which surrogates are chosen (`surrogates.choice`)."""

from __future__ import annotations

from dataclasses import dataclass, field

from streamdeid.core.arrays import Vector
from streamdeid.errors import SettingsError
from streamdeid.surrogates.certificate import Certificate, Limits
from streamdeid.surrogates.fixed_map import k_diff_map, k_same_furthest_map, k_same_m_map

SAMPLED = "k-diff-furthest"
MAPS = {"k-diff-furthest-paper": k_diff_map, "k-same-furthest": k_same_furthest_map, "k-same-m": k_same_m_map}
METHODS = (SAMPLED, *MAPS)

LEAST_Q, MOST_Q = 0.1, 0.6
"""Limits of q. Below the first, more than q of the candidates may fail the certificate, and then nobody gets a
surrogate. Above the second, a candidate is far for few people, and candidates that are far for too few are refused: of
5,735 sampled from the shipped gallery 3,610 pass at q = 0.5, 726 at 0.6, 26 at 0.7 and 4 at 0.8."""


@dataclass(frozen=True)
class SurrogateSettings:
    """How surrogates are chosen. Raises SettingsError for values that make no sense."""

    method: str = SAMPLED
    k: int = 5
    """Donors in a cluster."""
    q: float = 0.5
    """Share of the candidates, those nearest to the person, that the person never gets; LEAST_Q to MOST_Q."""
    preserve: tuple[str, ...] = ()
    """Attributes that a surrogate shares with the person (`attributes.ATTRIBUTES`). The product preserves gender by
    default (`Settings.preserve`); here only the named attributes are preserved."""
    bank_size: int = 4096
    attempts: int = 1000
    """Number of proposals at each δ."""
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
    """The vector that is published instead of a person's identity, for as long as the person is remembered."""

    vector: Vector = field(repr=False)
    """P, float64 (d,), read-only. It is kept out of every repr, like everything that is biometric."""
    certificate: Certificate
    method: str
    attempts: int
    """Number of proposals that it took, from 1."""
    cluster_size: int
    """Number of donors whose mean is at the heart of P."""
    preserved: str = ""
    """The class shared with the person, such as "female, 25-34"; empty without `preserve`."""
    beard: bool = True
    """Whether the dark around the mouth may be shown. Where gender is preserved only men's faces show it: what the
    donors' mean leaves of it looks like dirt on a woman, and like a shadow on a face that passes for both."""
    provisional: int | None = None
    """Number of the tracklet that it was sampled for, when nothing was known of the person; None for a surrogate that
    was sampled for a person."""

"""The bank: candidate surrogates, sampled with the key before any person is seen.

A candidate is built as k-Diff-furthest builds its output, from donors only:

    P = mean + G (c + u − mean),   u = s · A Σ_j w_j (donor_j − mean),   Σ w_j² = 1,
    A = Σ_i a_i v_i v_iᵀ,   G = Σ_i g_i v_i v_iᵀ

c is the centroid of a cluster of k donors grown around a sampled donor: the far cluster. u is the residual: a sampled
positive mixture of three donors. s = √((n − 1) / (n − (Σ w_j)²)) makes the covariance of the mixture that of the
donors, for donors sampled without replacement. v_i are the donors' principal axes, λ_i the donors' variance along v_i,
and a_i = √max(0, 1 − var_i(c) / λ_i) leaves to the residual exactly the variance that the centroids lack. So P varies
as donors do along every axis: it is a particular face, not a bland mean. Few donors with positive weights keep it sharp
and natural: beards, brows and skin stay what they are, where a negative weight would show their opposite. A candidate
has to meet conditions, named below, that unusual faces meet more often. The factors g_i, 0.8 to 1, compensate for that,
so that surrogates shown to people like the donors have the donors' variance along every axis.

No condition on a candidate depends on the people who will come. The conditions are: the distance to donors (η),
plausibility, being nearer to some donor than to the mean face, being far enough for a fair share of the donors, and, in
a bank for people whose gender is not sure, looking like neither gender. The guarantee needs this independence
(docs/methods.md 2.2: "(ii)-(v) do not depend on y").
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from streamdeid.core.arrays import Flags, Vector, Vectors
from streamdeid.errors import ModelError
from streamdeid.k_same.clusters import distances, grow_alone, pairwise
from streamdeid.surrogates.certificate import Limits, Plausibility

Accept = Callable[[Vectors], Flags]

_RESIDUAL_DONORS = 3
_MOST_SAMPLES = 64  # as a multiple of the bank's size
_CALIBRATIONS = 3
_CALIBRATION_SIZE = 1024


@dataclass(frozen=True)
class Bank:
    """Candidates in the order in which they were sampled."""

    candidates: Vectors = field(repr=False)
    """float64 (m, d)."""
    donor_distance: Vector = field(repr=False)
    """Distance of each candidate to the nearest donor, float64 (m,)."""
    sampled: int
    """Number of samples that it took to fill the bank."""

    def allowed(self, y: Vector, q: float, donor_margin: float) -> tuple[Flags, int]:
        """Which candidates the person at y (d,) may get: bool (m,), and how many candidates fail the certificate's (i).

        Exactly ⌊q m⌋ are excluded: first those that fail (i), then the nearest to y. The number does not depend on y.
        So a sample among the rest is any one of them with probability 1 / (m − ⌊q m⌋): at most 1 / (1 − q) times its
        probability 1 / m for an unknown person. When more than ⌊q m⌋ fail (i), all of those are excluded, and the
        caller must not sample; the second value tells this.
        """
        to_person = distances(self.candidates, y)
        fails = to_person - self.donor_distance < donor_margin
        order = np.lexsort((to_person, ~fails))
        allowed = np.ones(len(order), dtype=np.bool_)
        allowed[order[: excluded_count(len(order), q)]] = False
        allowed &= ~fails
        return allowed, int(fails.sum())


def excluded_count(size: int, q: float) -> int:
    """Number of `size` candidates that a person's own neighbourhood excludes: ⌊q · size⌋."""
    return int(np.floor(q * size))


def sample_bank(
    donors: Vectors,
    gallery: Vectors,
    plausibility: Plausibility,
    limits: Limits,
    k: int,
    q: float,
    size: int,
    rng: np.random.Generator,
    accept: Accept | None = None,
) -> Bank:
    """Fill a bank from donors (n, d), n ≥ k, with candidates that keep away from the whole gallery (N, d).

    accept: which of the rows (m, d) may be candidates, bool (m,); None: all.

    Raises ModelError when hardly any sample is acceptable, which means that gallery and model do not fit together.
    """
    source = _source(donors, k)
    for _ in range(_CALIBRATIONS):
        trial = _fill(source, gallery, plausibility, limits, q, min(size, _CALIBRATION_SIZE), rng)
        source = replace(source, scale=source.scale / _exaggeration(trial.candidates, source, q))
    return _fill(source, gallery, plausibility, limits, q, size, rng, accept)


@dataclass(frozen=True)
class _Source:
    """What candidates are sampled from."""

    donors: Vectors
    mean: Vector
    """Mean of the donors, float64 (d,)."""
    axes: Vectors
    """The donors' principal axes v_i, float64 (r, d)."""
    centroids: Vectors
    """Centroid of the cluster grown around each donor, relative to the mean and on the axes, float64 (n, r)."""
    residuals: Vectors
    """A (donor − mean) on the axes, float64 (n, r)."""
    scale: Vector
    """g_i, float64 (r,)."""


def _fill(
    source: _Source,
    gallery: Vectors,
    plausibility: Plausibility,
    limits: Limits,
    q: float,
    size: int,
    rng: np.random.Generator,
    accept: Accept | None = None,
) -> Bank:
    kept: list[Vectors] = []
    count = sampled = 0
    while sampled < _MOST_SAMPLES * size:
        batch = _sample(source, size, rng)
        sampled += size
        if accept is not None:
            batch = batch[accept(batch)]
        to_gallery = pairwise(batch, gallery).min(axis=1)
        keep = to_gallery >= limits.donor_distance
        keep &= plausibility.squared(batch) <= limits.mahalanobis
        # Condition (i) would fail most often for the person with the most average face of all.
        keep &= distances(batch, plausibility.mean) - to_gallery >= limits.donor_margin
        kept.append(batch[keep])
        count += int(keep.sum())
        if count < size:
            continue
        pool = np.concatenate(kept)
        pool = pool[_far_for_many(pool, source.donors, q)]
        if len(pool) >= size:
            chosen = pool[:size]
            return Bank(chosen, pairwise(chosen, gallery).min(axis=1), sampled)
    raise ModelError(f"only {count} of {sampled} sampled faces are acceptable: gallery and model do not fit together")


def _far_for_many(pool: Vectors, donors: Vectors, q: float) -> Flags:
    """Candidates beyond the q-quantile for at least half as many donors as a candidate is on average: bool (m,).

    A candidate that is far for few people would tell who they are when it is shown. The average guarantee does not
    bound that, but this condition does (docs/methods.md 2.2: "bound it too by refusing P whose allowed prior mass is
    low"). Removing candidates moves the quantiles, so the step is repeated until it changes nothing.
    """
    between = np.ascontiguousarray(pairwise(pool, donors).T)
    keep = np.ones(len(pool), dtype=np.bool_)
    while keep.any():
        # A thousand give the quantile well enough; this step is most of what a bank costs.
        least = quantiles(between[:, np.flatnonzero(keep)[:_CALIBRATION_SIZE]], q)
        share = (between >= least[:, None]).view(np.uint8).sum(axis=0, dtype=np.int32) / len(donors)
        narrower = keep & (share >= 0.5 * (1.0 - q))
        if narrower.sum() == keep.sum():
            break
        keep = narrower
    return keep


def quantiles(rows: Vectors, q: float) -> Vector:
    """`np.quantile(rows, q, axis=1)` of values (n, m), float64 (n,), the same to the bit: sorting whole rows is three
    times as fast as what NumPy does."""
    rows = np.sort(rows, axis=1)
    place = (rows.shape[1] - 1) * q
    low = int(place)
    a, b = rows[:, low], rows[:, min(low + 1, rows.shape[1] - 1)]
    share = place - low
    return np.asarray(a + (b - a) * share if share < 0.5 else b - (b - a) * (1 - share), np.float64)


def _exaggeration(candidates: Vectors, source: _Source, q: float) -> Vector:
    """Along each axis, the spread of the candidates that would be shown to donors, over the spread of the donors,
    (r,)."""
    between = pairwise(candidates, source.donors)
    share = (between >= np.quantile(between, q, axis=0)).mean(axis=1)
    shown = np.average(np.square((candidates - source.mean) @ source.axes.T), axis=0, weights=share)
    donors = np.square((source.donors - source.mean) @ source.axes.T).mean(axis=0)
    return np.asarray(np.sqrt(shown / donors), dtype=np.float64)


def _source(donors: Vectors, k: int) -> _Source:
    mean = donors.mean(axis=0)
    _, singular, axes = np.linalg.svd(donors - mean, full_matrices=False)
    axes = axes[singular > 1e-9 * singular[0]]
    places = (donors - mean) @ axes.T
    centroids = np.stack([grow_alone(donors, seed, k).centroid for seed in range(len(donors))])
    centroids = (centroids - mean) @ axes.T
    missing = np.clip(1.0 - np.var(centroids, axis=0) / np.var(places, axis=0), 0.0, 1.0)
    return _Source(donors, mean, axes, centroids, places * np.sqrt(missing), np.ones(len(axes)))


def _sample(source: _Source, count: int, rng: np.random.Generator) -> Vectors:
    """`count` candidates, float64 (count, d), before any condition."""
    n = len(source.donors)
    mixed = min(_RESIDUAL_DONORS, n - 1)
    chosen = np.argpartition(rng.random((count, n)), mixed - 1, axis=1)[:, :mixed]
    weights = rng.uniform(0.5, 1.0, (count, mixed))
    weights /= np.sqrt(np.square(weights).sum(axis=1, keepdims=True))
    weights *= np.sqrt((n - 1) / (n - np.square(weights.sum(axis=1, keepdims=True))))
    residual = np.einsum("cm,cmr->cr", weights, source.residuals[chosen])
    places = source.scale * (source.centroids[rng.integers(n, size=count)] + residual)
    return np.asarray(source.mean + places @ source.axes, dtype=np.float64)

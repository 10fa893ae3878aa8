"""Rank-1 re-identification from surrogate vectors, for each method of a stream (METHODS 3.3, A1).

The attacker holds the very photographs that the identities were measured on (the worst case on purpose) and matches
surrogates to them by Euclidean distance (naive), and in the trailing components only, where the cluster means of the
papers' maps hardly differ and a person's own residual stays (the null-space attack). Parameter space only: what
rendered pictures give away beyond it is not measured here.

    python benchmarks/identity_attacks.py ../shared/faces/canada ../shared/faces/imm37
"""

from __future__ import annotations

import argparse
import json
from fractions import Fraction
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from streamdeid.aam.appearance_model import AppearanceModel
from streamdeid.aam.train import annotate, texture_of_sample
from streamdeid.cli.train import photographs
from streamdeid.colour import planes_from_rgb
from streamdeid.deidentify.surrogates import METHODS, Surrogates, SurrogateSettings
from streamdeid.detection.mediapipe_faces import MediapipeFaces
from streamdeid.errors import FailedClosed
from streamdeid.faces import Face
from streamdeid.frames import Frame
from streamdeid.shipped_models import load_models

Vectors = NDArray[np.float64]
_KEYS = 5


def identities(directories: list[Path], model: AppearanceModel) -> Vectors:
    """Identity vectors (n, d) of the people photographed in directories of neutral photographs."""
    detector = MediapipeFaces()

    def detect(image: NDArray[np.uint8]) -> list[Face]:
        detector.forget()
        return list(detector(Frame(planes_from_rgb(image), Fraction(0), 0)))

    found = []
    for directory in directories:
        for path in photographs(directory)[0]:
            sample = annotate(path, detect)
            found.append(model.identity(sample.points, texture_of_sample(sample, model.mean_shape, model.table)))
    detector.close()
    return np.stack(found)


def rank_1(published: Vectors, originals: Vectors) -> float:
    """Share of published vectors (n, d) whose nearest original (n, d) is their own; a tie counts as missed.

    Rows that are not finite belong to people for whom the method failed closed; nobody is named by them.
    """
    there = np.isfinite(published).all(axis=1)
    distances = np.linalg.norm(published[there, None] - originals, axis=2)
    rows, own = np.arange(len(distances)), np.flatnonzero(there)
    others = distances.copy()
    others[rows, own] = np.inf
    return float((distances[rows, own] < others.min(axis=1)).mean())


def surrogate_of(table: Surrogates, person: int, y: Vectors) -> Vectors:
    """The surrogate (d,) of a person of identity y (d,), nan where the method fails closed."""
    try:
        return table.surrogate(person, y).vector
    except FailedClosed:
        return np.full(len(y), np.nan)


def residual_rank_1(published: Vectors, originals: Vectors, donors: Vectors) -> float:
    """Rank-1 after projecting out the directions in which donors' cluster means differ most (METHODS 3.3, A5)."""
    centred = donors - donors.mean(axis=0)
    _, s, directions = np.linalg.svd(centred, full_matrices=False)
    tail = directions[len(directions) // 3 :] / np.maximum(s[len(directions) // 3 :, None], 1e-9)
    return rank_1(published @ tail.T, originals @ tail.T)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument(
        "faces", nargs="+", type=Path, help="directories of neutral photographs of people never trained on"
    )
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    models = load_models()
    model = models.fitting.model
    people = identities(arguments.faces, model)
    donors = models.gallery.identities
    rows = {}
    for method in METHODS:
        naive, null, distinct, failed = [], [], [], []
        for number in range(_KEYS):
            table = Surrogates(models.gallery, model.variances, SurrogateSettings(method=method), bytes([number]) * 32)
            published = np.stack([surrogate_of(table, i + 1, y) for i, y in enumerate(people)])
            failed.append(int(np.isnan(published).any(axis=1).sum()))
            naive.append(rank_1(published, people))
            null.append(residual_rank_1(published, people, donors))
            distinct.append(len(np.unique(published[np.isfinite(published).all(axis=1)], axis=0)))
        rows[method] = [float(np.mean(naive)), float(np.mean(null)), float(np.mean(distinct)), float(np.mean(failed))]
    rows["nothing changed"] = [
        rank_1(people + 1e-9, people),
        residual_rank_1(people + 1e-9, people, donors),
        float(len(people)),
        0.0,
    ]
    if arguments.json:
        print(json.dumps({"people": len(people), "rows": rows}))
        return
    print(f"{len(people)} people, {_KEYS} keys; chance {1 / len(people):.1%}\n")
    print(
        "| method | naive rank-1 | trailing components rank-1 | distinct faces | failed closed |\n|---|---|---|---|---|"
    )
    for name, (naive_share, null_share, count, closed) in rows.items():
        print(f"| {name} | {naive_share:.1%} | {null_share:.1%} | {count:.1f} | {closed:.1f} |")


if __name__ == "__main__":
    main()

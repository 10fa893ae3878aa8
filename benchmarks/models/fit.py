"""How well the model is fitted to people it never saw, and how steady that is.

    python -m benchmarks fit [--faces DIR] [--models DIR] [--seed 2014] [--json]

DIR holds `canada` (never trained on: the shipped model is fitted) and `london` (a fifth of the people is held out and
a model is trained on the others). Residual: the share of the small grey texture that the model cannot explain, at the
landmarker's points and after the Gauss-Newton steps. Jitter: a still photograph, its face 200 pixels wide, for 60
frames with noise of 2 pixels on every landmark; the noise is compared with that of the points that come out.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import cv2
import numpy as np

from benchmarks.clips import as_json, markdown
from benchmarks.command_line import parser_of
from benchmarks.models.photographs import Annotator, annotated, held_out, resized
from streamdeid.aam.appearance_model import load_model
from streamdeid.aam.fit import Fit, FitModel, fit
from streamdeid.aam.pose import HeadPose, pose_of
from streamdeid.aam.train import Sample, train
from streamdeid.core.arrays import Floats
from streamdeid.core.colour import planes_from_rgb
from streamdeid.core.faces import Face
from streamdeid.core.frames import Planes
from streamdeid.core.ibug68 import LANDMARKS
from streamdeid.errors import StreamdeidError
from streamdeid.observe.observation import Observer, reduced_face

WIDTH, NOISE, FRAMES, RATE = 200.0, 2.0, 60, 25.0
SETTLED = 10
"""Frames that the smoothing is given to settle before the noise is measured."""


def fitted(fitting: FitModel, planes: Planes, points: Floats, steps: int = 6) -> tuple[HeadPose, Fit]:
    """The model fitted to a face from the landmarker's points (81, 2), as the filter does it."""
    pose = pose_of(points, fitting.model)
    reduced, to_reduced = reduced_face(planes, points, 1.5 * fitting.table.size[0])
    grey = np.asarray(cv2.cvtColor(reduced, cv2.COLOR_RGB2GRAY), np.uint8)
    return pose, fit(fitting, grey, to_reduced, pose, pose.to_frame(points, fitting.model.depth), steps)


def residuals(fitting: FitModel, samples: Sequence[Sample]) -> dict[str, object]:
    """Residual before and after the steps over photographs."""
    fits = [fitted(fitting, planes_from_rgb(s.image), s.points)[1] for s in (resized(s, WIDTH) for s in samples)]
    before, after = (np.array([getattr(f, name) for f in fits]) for name in ("residual_before", "residual"))
    return {
        "people": len(fits),
        "residual before": float(np.median(before)),
        "residual after": float(np.median(after)),
        "after, 95 %": float(np.percentile(after, 95)),
        "lower for": float((after < before - 1e-6).mean()),
        "steps": float(np.mean([f.steps for f in fits])),
        "converged": float(np.mean([f.converged for f in fits])),
    }


def jitter(fitting: FitModel, samples: Sequence[Sample], rng: np.random.Generator) -> dict[str, object]:
    """Noise in and out, pixels in a face 200 pixels wide: standard deviation of a coordinate over time."""
    columns: dict[str, list[float]] = {"in": [], "projected": [], "after the steps": [], "published": []}
    for given in samples:
        small = resized(given, WIDTH)
        scale = WIDTH / float(np.ptp(small.points[:, 0]))
        planes = planes_from_rgb(small.image)
        observe = Observer(fitting)
        rows: dict[str, list[Floats]] = {name: [] for name in columns}
        for i in range(FRAMES):
            points = small.points + rng.normal(0, NOISE / scale, small.points.shape)
            rows["in"].append(points)
            for name, steps in (("projected", 0), ("after the steps", 6)):
                pose, found = fitted(fitting, planes, points, steps)
                rows[name].append(pose.to_image(found.points, fitting.model.depth))
            box = (*points.min(axis=0), *points.max(axis=0))
            face = Face((box[0], box[1], box[2], box[3]), 1.0, points[:LANDMARKS], points[LANDMARKS:])
            rows["published"].append(observe(planes, face, i / RATE).points)
        for name, seen in rows.items():
            columns[name].append(scale * float(np.std(np.stack(seen[SETTLED:]), axis=0).mean()))
    return {"faces": len(samples), **{name: float(np.mean(noise)) for name, noise in columns.items()}}


def main(argv: list[str]) -> int:
    """Run; the exit code."""
    root = Path(__file__).parents[2]
    parser = parser_of(__name__, __doc__)
    parser.add_argument("--faces", type=Path, default=root.parent / "shared" / "faces")
    parser.add_argument("--models", type=Path, default=root / "models")
    parser.add_argument("--seed", type=int, default=2014)
    parser.add_argument("--json", action="store_true", help="print JSON instead of tables")
    given = parser.parse_args(argv)
    try:
        annotator = Annotator()
        shipped = FitModel.of(load_model(given.models / "aam.npz"))
        canada = list(annotated(sorted((given.faces / "canada").glob("*.jpg")), annotator).values())
        split = held_out(given.faces / "london", given.seed, annotator)
    except StreamdeidError as error:
        parser.error(str(error))
    trained = FitModel.of(train(split.training))
    sets = {"canada": (shipped, canada), "london, held out": (trained, split.unseen)}
    rng = np.random.default_rng(given.seed)
    fits = {name: residuals(*pair) for name, pair in sets.items()}
    noise = {name: jitter(fitting, samples[:6], rng) for name, (fitting, samples) in sets.items()}
    if given.json:
        print(as_json({"fit": fits, "jitter": noise}))
        return 0
    for table in (fits, noise):
        header = ["set", *next(iter(table.values()))]
        print(markdown(header, [(name, *row.values()) for name, row in table.items()]) + "\n")
    return 0

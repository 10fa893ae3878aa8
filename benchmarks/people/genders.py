"""Whom does the rule for gender take for what, before cameras that it has not learnt from?

    python -m benchmarks genders FACES [--each 4] [--json]

FACES holds sets of photographs: lfpw (those that labels/lfpw_gender.csv names, labelled by eye), canada and imm37 (the
letter at the end of a file's name). Each photograph is filmed so many times (`aam.variations.filmed`: 24 to 120 pixels,
soft, noisy, compressed), landmarks are found there, and the rule of the shipped models judges. Printed are, for each
set and gender, the shares told right, as either, and wrong, and the share of pairs of a man and a woman of whom the man
has the greater odds. The first half of lfpw by name chose the rule's border, the second half confirms it.
"""

from __future__ import annotations

import contextlib
import csv
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray

from benchmarks.clips import as_json, markdown
from benchmarks.command_line import parser_of, positive
from streamdeid.aam.appearance_model import AppearanceModel
from streamdeid.aam.photographs import NEUTRAL, Detect, identity_of, photograph_of, pictures_in
from streamdeid.aam.variations import filmed
from streamdeid.core.arrays import Points
from streamdeid.runs.parts import photograph_detector, still_detector
from streamdeid.surrogates.attributes import EITHER, GENDER, rule_for
from streamdeid.surrogates.models import load_models

LABELS = Path(__file__).parent / "labels" / "lfpw_gender.csv"
_SEED = 2026
_ABOUT = 1.0
"""Picture about a face that is kept, widths of the face to every side."""


def labelled(faces: Path) -> dict[str, list[tuple[Path, str]]]:
    """The photographs and their people's genders, by set."""
    with LABELS.open(newline="", encoding="utf-8") as file:
        lfpw = [(faces / row["photograph"], row["gender"]) for row in csv.DictReader(file)]
    lfpw = sorted((path, gender) for path, gender in lfpw if path.is_file())
    half = len(lfpw) // 2
    sets = {"lfpw, choosing": lfpw[:half], "lfpw, confirming": lfpw[half:]}
    for name in ("canada", "imm37"):
        pictures = [path for path in pictures_in(faces / name) if path.stem[-1] in "mf"]
        sets[name] = [(path, {"m": "male", "f": "female"}[path.stem[-1]]) for path in pictures]
    return sets


def vectors_of(path: Path, each: int, model: AppearanceModel, detect: Detect) -> list[Points]:
    """Identity vectors of a photograph's largest face, filmed so many times; of none where no face is found."""
    picture = cv2.imread(str(path), cv2.IMREAD_COLOR)
    if picture is None:
        return []
    image: NDArray[np.uint8] = np.ascontiguousarray(picture[:, :, ::-1])
    whole = [face for face in detect(image) if face.landmarks is not None]
    if not whole:
        return []
    points = max((face.landmarks for face in whole if face.landmarks is not None), key=lambda p: np.ptp(p[:, 0]))
    width, low, high = float(np.ptp(points[:, 0])), points.min(axis=0), points.max(axis=0)
    x0, y0 = np.maximum(low - _ABOUT * width, 0).astype(int)
    x1, y1 = (high + _ABOUT * width).astype(int)
    found = []
    for which in range(each):
        rng = np.random.default_rng((_SEED, which, len(path.stem)))
        seen = photograph_of(filmed(image[y0:y1, x0:x1], width, rng), path.stem, NEUTRAL, detect)
        if seen is not None:
            found.append(identity_of(seen, model))
    return found


def main(argv: list[str]) -> int:
    """Film, judge and print; the exit code."""
    parser = parser_of(__name__, __doc__)
    parser.add_argument("faces", type=Path)
    parser.add_argument("--each", type=positive, default=4)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args(argv)
    models = load_models()
    rule = rule_for(models.gallery, GENDER)
    along = rule.weights[rule.names.index("male")] - rule.weights[rule.names.index("female")]
    rows: list[dict[str, object]] = []
    with contextlib.closing(still_detector()) as detector:
        detect = photograph_detector(detector)
        for name, photographs in labelled(arguments.faces).items():
            told: dict[str, list[str]] = {"female": [], "male": []}
            odds: dict[str, list[float]] = {"female": [], "male": []}
            for path, gender in photographs:
                for y in vectors_of(path, arguments.each, models.fitting.model, detect):
                    told[gender].append(rule.estimate(y))
                    odds[gender].append(float(along @ y))
            pairs = float((np.array(odds["male"])[:, None] > np.array(odds["female"])).mean())
            for gender, found in told.items():
                other = next(which for which in told if which != gender)
                right, either, wrong = (found.count(which) / len(found) for which in (gender, EITHER, other))
                rows.append(
                    {"set": name, "people": gender, "pictures": len(found), "right": right, "either": either,
                     "wrong": wrong, "pairs": pairs}
                )  # fmt: skip
    print(as_json(rows) if arguments.json else markdown(list(rows[0]), [list(row.values()) for row in rows]))
    return 0

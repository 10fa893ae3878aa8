"""How often the whitelist's recognisers take a stranger for somebody they know, and how often they know their own.

    python -m benchmarks whitelist --faces ../shared/faces [--videos ../shared/videos] [--dlib] [--compare] [--json]

FACES holds `london` (two pictures of each person; thresholds were set on it), and any of `canada`, `imm37`, `lfpw`, in
which everybody is a stranger. TAR: share of smiling pictures known by the neutral one. FAR: share of pairs of different
people that are accepted; its 95 % limits (Clopper and Pearson) take pairs for independent, so how many people were ever
falsely accepted stands beside it. Pictures of one set are by one camera in one light: the hard case. lfpw, in which a
person may occur twice, is compared with the others only. Spoilt: the probe is as a bad camera would deliver it. Both
blurred: both pictures are, by a Gaussian whose sigma is that share of the face's width, and only those count that are
still sharp enough for the whitelist; with "any" in front, all.

VIDEOS: the rule of `protect.whitelist` with a second of look-ahead. Two frames of each clip, and the pictures of
canada and imm37, are put on the whitelist one at a time, and every track of every clip is shown or covered. Frames in
which a stranger is shown are exposures. --compare: every recogniser at its own thresholds for a FAR of 1e-3 and 1e-4 on
london, the appearance model's identity among them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray

from benchmarks.clips import as_json, markdown
from benchmarks.command_line import parser_of
from benchmarks.people.whitelist_clips import distances, videos_table, watched
from streamdeid.aam.appearance_model import AppearanceModel
from streamdeid.aam.photographs import NEUTRAL, Photograph, listed, read_photograph, reduced
from streamdeid.core.arrays import Points, Vectors
from streamdeid.core.colour import planes_from_rgb
from streamdeid.errors import InputError, StreamdeidError
from streamdeid.identity.recognised_faces import Recogniser, sharpness_of, unfit, vector_of
from streamdeid.identity.upper_face import ACCEPT, UpperFace
from streamdeid.lab.identification import exact_limits, threshold_at
from streamdeid.observe.signals import Sharpness
from streamdeid.runs.parts import photograph_detector, still_detector
from streamdeid.runs.whitelist import LEAST_WIDTH, recogniser_of
from streamdeid.settings import DLIB, Settings
from streamdeid.surrogates.models import load_models

SAME, SET, LOOSE = "london", ("canada", "imm37"), "lfpw"
SPOILT = ("64 px wide", "blur of 3 %", "light from the side", "JPEG 12")
BLURS = (0.0, 0.005, 0.0075, 0.01, 0.015)
"""Blur of both pictures, sigma as a share of the face's width."""
_WIDTH = 240.0
"""Pixels that faces are reduced to: as much as a recogniser is given in a stream."""
_RATES = (1e-3, 1e-4)
_PHOTOGRAPHS = (
    "recogniser",
    "TAR london (95 %)",
    "strangers",
    "pairs",
    "accepted",
    "FAR (95 %)",
    "people ever",
    "nearest/threshold",
)
_VIDEOS = ("recogniser", "clip", "frames", "shown, picture 1", "shown, picture 2", "frames with a stranger shown")


@dataclass(frozen=True)
class Picture:
    """One photograph and its vectors, by the recogniser's name; the built-in one's also by how it was spoilt."""

    group: str
    person: str
    expression: str
    vectors: dict[str, Vectors]


Get = Callable[[Picture], Vectors]


def recognisers(model: AppearanceModel, dlib: bool, compare: bool) -> dict[str, Recogniser]:
    """Those to measure. Raises SettingsError when dlib is not installed."""
    found = {"built-in": Recogniser(UpperFace(model), ACCEPT)}
    if dlib:
        found["dlib"] = recogniser_of(Settings(whitelist=(Path("-"),), whitelist_recogniser=DLIB), model)
    if compare:

        def identity(image: NDArray[np.uint8], landmarks: Points) -> Vectors:
            return model.identity(landmarks, model.texture_of(image, landmarks))

        found["identity of the model"] = Recogniser(identity, 3200.0)  # `--reentry`'s own threshold
    return found


def spoilt(image: NDArray[np.uint8], width: float) -> Iterator[NDArray[np.uint8]]:
    """The picture, whose face is `width` pixels wide, as a bad camera would deliver it: in the ways of `SPOILT`."""
    small = cv2.resize(image, None, fx=64 / width, fy=64 / width, interpolation=cv2.INTER_AREA)
    height, across = image.shape[:2]
    yield np.asarray(cv2.resize(small, (across, height), interpolation=cv2.INTER_CUBIC), np.uint8)
    yield np.asarray(cv2.GaussianBlur(image, (0, 0), 0.03 * width), np.uint8)
    ramp = np.linspace(0.5, 1.2, across)[None, :, None]
    yield np.clip(image * ramp, 0, 255).astype(np.uint8)
    _, coded = cv2.imencode(".jpg", image, [cv2.IMWRITE_JPEG_QUALITY, 12])
    yield np.asarray(cv2.imdecode(coded, cv2.IMREAD_COLOR), np.uint8)


def blurred(
    photograph: Photograph, model: AppearanceModel, known: Recogniser, measure: Sharpness
) -> Iterator[tuple[str, Vectors | None]]:
    """The vector of the photograph blurred in the ways of `BLURS`, by name; twice where it is still sharp enough."""
    width = float(np.ptp(photograph.sample.points[:, 0]))
    for blur in BLURS:
        image = cv2.GaussianBlur(photograph.image, (0, 0), blur * width) if blur else photograph.image
        planes = planes_from_rgb(np.asarray(image, np.uint8))
        vector = vector_of(planes, photograph.face, model, known.describe)
        yield f"any both blurred by {100 * blur:g} %", vector
        if sharpness_of(planes, photograph.face, model, measure) >= known.sharpness:
            yield f"both blurred by {100 * blur:g} %", vector


def read_sets(root: Path, model: AppearanceModel, known: dict[str, Recogniser]) -> list[Picture]:
    """All pictures with a face that may be whitelisted."""
    detect = still_detector()
    find = photograph_detector(detect)
    measure = Sharpness(model.fit_table)
    pictures = []
    for name in (SAME, *SET, LOOSE):
        folders = [root / name] if name != LOOSE else sorted(p for p in (root / name).glob("*") if p.is_dir())
        for expression, path in (pair for folder in folders if folder.is_dir() for pair in listed(folder)):
            photograph = read_photograph(path, f"{path.parent.name}/{path.stem}", expression, find)
            if photograph is None or unfit(photograph.face, model, LEAST_WIDTH) is not None:
                continue
            photograph = reduced(photograph, _WIDTH)
            planes, face = planes_from_rgb(photograph.image), photograph.face
            vectors = {k: vector_of(planes, face, model, r.describe) for k, r in known.items()}
            if name != LOOSE:
                images = spoilt(photograph.image, float(np.ptp(photograph.sample.points[:, 0])))
                for how, image in zip(SPOILT, images, strict=True):
                    vectors[how] = vector_of(planes_from_rgb(image), face, model, known["built-in"].describe)
                vectors.update(blurred(photograph, model, known["built-in"], measure))
            found = {how: vector for how, vector in vectors.items() if vector is not None}
            if len(found) == len(vectors):
                pictures.append(Picture(name, path.stem, expression, found))
    detect.close()
    return pictures


def pairs(pictures: list[Picture], get: Get, probe: Get) -> tuple[Vectors, dict[str, list[Vectors]]]:
    """Of london: genuine distances; and by set: distances of different people, one row for each person known."""
    by = {name: [p for p in pictures if p.group == name] for name in (SAME, *SET, LOOSE)}
    genuine = [
        float(np.linalg.norm(get(a) - probe(b)))
        for a in by[SAME]
        for b in by[SAME]
        if a.person == b.person and a.expression == NEUTRAL != b.expression
    ]
    strangers = {
        name: [distances([get(a)], [probe(b) for b in by[name] if b.person != a.person])[0] for a in by[name]]
        for name in (SAME, *SET)
    }
    known = [p for name in (SAME, *SET) for p in by[name] if p.expression == NEUTRAL]
    strangers["between sets"] = [distances([get(a)], [probe(b) for b in known if b.group != a.group])[0] for a in known]
    if by[LOOSE] and get is probe:
        strangers[LOOSE] = list(distances([get(p) for p in known], [get(p) for p in by[LOOSE]]))
    return np.array(genuine), {k: v for k, v in strangers.items() if v and len(v[0])}


def share(hits: int, trials: int) -> str:
    """A share with its limits."""
    found = exact_limits(hits, trials)
    return f"{found.value:.2g} ({found.low:.2g} to {found.high:.2g})"


def own(name: str) -> Get:
    """The vector of that name."""
    return lambda picture: picture.vectors[name]


def photographs_table(pictures: list[Picture], known: dict[str, Recogniser]) -> list[list[object]]:
    """At the shipped thresholds: TAR on london, FAR in and between the sets, also of spoilt probes."""
    rows: list[list[object]] = []
    cases: list[tuple[str, float, Get, Get]] = [(n, r.accept, get := own(n), get) for n, r in known.items()]
    cases += [(f"built-in, {how}", ACCEPT, own("built-in"), own(how)) for how in SPOILT]
    both = [f"{which}both blurred by {100 * blur:g} %" for blur in BLURS for which in ("any ", "")]
    cases += [(how, ACCEPT, get := own(how), get) for how in both]
    for name, accept, get, probe in cases:
        usable = [p for p in pictures if name in p.vectors] if name in both else pictures
        genuine, strangers = pairs(usable, get, probe)
        tar = share(int((genuine <= accept).sum()), len(genuine)) if len(genuine) else ""
        for group, lists in strangers.items():
            hits, trials = sum(int((d <= accept).sum()) for d in lists), sum(len(d) for d in lists)
            if get is probe and group != LOOSE:  # each pair stands in two rows
                hits, trials = hits // 2, trials // 2
            people = f"{sum(bool((d <= accept).any()) for d in lists)} of {len(lists)}"
            nearest = min(float(d.min()) for d in lists) / accept
            rows.append([name, tar if group == SAME else "", group, trials, hits, share(hits, trials), people, nearest])
    return rows


def compared_table(pictures: list[Picture], known: dict[str, Recogniser]) -> list[list[object]]:
    """Every recogniser at the threshold that has a FAR of 1e-3 and 1e-4 on london."""
    rows: list[list[object]] = []
    for name in known:
        genuine, strangers = pairs(pictures, get := own(name), get)
        for rate in _RATES:
            at = threshold_at(np.concatenate(strangers[SAME]), rate)
            rates = [float((np.concatenate(strangers[group]) <= at).mean()) for group in strangers if group != SAME]
            rows.append([name, rate, at, share(int((genuine <= at).sum()), len(genuine)), *rates])
    return rows


def main(argv: list[str]) -> int:
    """Run; the exit code."""
    parser = parser_of(__name__, __doc__)
    parser.add_argument("--faces", type=Path, required=True)
    parser.add_argument("--videos", type=Path)
    parser.add_argument("--dlib", action="store_true", help="dlib's recogniser too (slow; extra `evaluation`)")
    parser.add_argument("--compare", action="store_true", help="other recognisers at thresholds of their own")
    parser.add_argument("--json", action="store_true", help="print JSON instead of tables")
    given = parser.parse_args(argv)
    model = load_models(None).fitting.model
    try:
        known = recognisers(model, given.dlib, given.compare)
        pictures = read_sets(given.faces, model, known)
        if not any(p.group == SAME for p in pictures):
            raise InputError(f"{given.faces} lacks {SAME}")
        paths = sorted(p for p in given.videos.iterdir() if p.suffix in (".mp4", ".mpg")) if given.videos else []
    except (OSError, StreamdeidError) as error:
        parser.error(str(error))
    shipped = {name: r for name, r in known.items() if name in ("built-in", "dlib")}
    tables: dict[str, list[dict[str, object]]] = {}

    def tell(name: str, columns: Sequence[str], rows: list[list[object]]) -> None:
        tables[name] = [dict(zip(columns, row, strict=True)) for row in rows]
        if not given.json:
            print(markdown(columns, rows), end="\n\n", flush=True)

    tell("photographs", _PHOTOGRAPHS, photographs_table(pictures, shipped))
    if given.compare:
        get = own("built-in")
        groups = [f"FAR {group}" for group in pairs(pictures, get, get)[1] if group != SAME]
        columns = ["recogniser", "FAR london", "threshold", "TAR london (95 %)", *groups]
        tell("compared", columns, compared_table(pictures, known))
    if paths:
        clips = [watched(path, model, shipped) for path in paths]
        strangers = {name: [p.vectors[name] for p in pictures if p.group in SET] for name in shipped}
        tell("videos", _VIDEOS, videos_table(clips, strangers, shipped))
    if given.json:
        print(as_json(tables))
    return 0

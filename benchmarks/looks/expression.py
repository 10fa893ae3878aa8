"""Does the new face do what the original does? Landmarks are detected again on both clips and compared.

    python -m benchmarks expression VIDEO OUT [--frames N] [--models DIR] [--json]

For each person followed in VIDEO for 25 frames and more (docs/methods.md 5.2): correlation, concordance and lag of
mouth opening, mouth width, eye opening and brow height, after a similarity that lays the outer eye corners onto fixed
places, and once more with the head's turn undone; gaze; F1 of blinks and of mouth openings (within two frames); head
pose by cv2.solvePnP; flicker. For the clip: the share of faces in which the detector still finds one (overlap 0.3 and
up).

"ceiling" is the correlation that the landmarker reaches with itself on VIDEO's mirror image: where a signal hardly
moves, its noise is all there is, and no filter can do better. Concordance and the second pose error take off the
person's own median: a new person has lips and a nose of their own.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path

import numpy as np

from benchmarks.clips import as_json, in_step, markdown
from benchmarks.command_line import parser_of
from benchmarks.looks.flicker import Flicker
from benchmarks.looks.head_geometry import (
    FEATURES,
    GAZE,
    angle_between,
    counterpart,
    features,
    frontal,
    gaze,
    head_rotation,
    mirrored,
    unmirrored,
    upright,
    yaw_pitch_roll,
)
from benchmarks.looks.series import best_lag, concordance_about_medians, correlation, event_f1, events
from streamdeid.aam.appearance_model import AppearanceModel, load_model
from streamdeid.core.arrays import Floats
from streamdeid.core.faces import Face
from streamdeid.detection.mediapipe_faces import MediapipeFaces
from streamdeid.errors import StreamdeidError
from streamdeid.tracking.tracker import FaceTracker

LEAST_FRAMES = 25
BLINK, OPEN = 0.6, 0.5
"""An eye is shut below this share of its median opening; a mouth open above this share of its widest (95 %)."""


SIGNALS = (*FEATURES, *GAZE)


@dataclass
class Person:
    """Rows of one person by frame: FEATURES and GAZE, then FEATURES with the turn undone, of original and output and
    of the original's mirror image."""

    frames: list[int] = field(default_factory=list)
    original: list[Floats] = field(default_factory=list)
    output: list[Floats] = field(default_factory=list)
    mirror: list[Floats] = field(default_factory=list)
    apart: list[float] = field(default_factory=list)
    """Degrees between the two heads' poses."""
    turned: list[Floats] = field(default_factory=list)
    """Yaw, pitch and roll of the output's head less the original's, degrees."""
    flicker: Flicker = field(default_factory=Flicker)


def compare(video: Path, out: Path, model: AppearanceModel, most: int | None) -> tuple[dict[int, Person], int, int]:
    """People by track, faces of the original, faces found again. Raises ValueError for clips of unlike length."""
    detect_original, detect_output, detect_mirror = MediapipeFaces(), MediapipeFaces(), MediapipeFaces()
    tracker: FaceTracker | None = None
    people: dict[int, Person] = {}
    faces = found = 0
    for original, output in islice(in_step(video, out), most):
        size = original.planes.size
        tracker = tracker or FaceTracker(size=size)
        there = detect_output(output)
        mirror = [unmirrored(f, size[0]) for f in detect_mirror(replace(original, planes=mirrored(original.planes)))]
        for track in tracker.update(detect_original(original), original.time):
            face = track.face
            if face is None or face.landmarks is None:
                continue
            faces += 1
            twin = counterpart(face, there)
            found += twin is not None
            if twin is None or twin.landmarks is None:
                continue
            person = people.setdefault(track.number, Person())
            person.frames.append(original.index)
            turns = [_rotation(one, model, size) for one in (face, twin)]
            person.original.append(_row(face, turns[0], model))
            person.output.append(_row(twin, turns[1], model))
            reflected = counterpart(face, [f for f in mirror if f.landmarks is not None])
            person.mirror.append(_row(reflected or face, turns[0], model) * (1.0 if reflected else np.nan))
            person.apart.append(angle_between(*turns))
            person.turned.append(yaw_pitch_roll(turns[1]) - yaw_pitch_roll(turns[0]))
            person.flicker.note(original.index, face, twin, original.planes, output.planes, model)
    return people, faces, found


def _rotation(face: Face, model: AppearanceModel, size: tuple[int, int]) -> Floats:
    assert face.landmarks is not None
    return head_rotation(face.landmarks, model, size)


def _row(face: Face, turn: Floats, model: AppearanceModel) -> Floats:
    assert face.landmarks is not None
    level, front = upright(face.landmarks), frontal(face.landmarks, turn, model)
    return np.concatenate([features(level), gaze(face), features(front)])


def report(number: int, person: Person) -> dict[str, object]:
    """What is printed of a person."""
    frames = np.array(person.frames) - person.frames[0]
    original, output, mirror = (np.full((frames[-1] + 1, len(SIGNALS) + len(FEATURES)), np.nan) for _ in range(3))
    original[frames], output[frames], mirror[frames] = person.original, person.output, person.mirror
    turned = np.array(person.turned)
    wobble = np.linalg.norm(turned - np.median(turned, axis=0), axis=1)
    signals = {
        name: {
            "r": correlation(original[:, i], output[:, i]),
            "ceiling": correlation(original[:, i], mirror[:, i]),
            "r, turn undone": correlation(original[:, len(SIGNALS) + i], output[:, len(SIGNALS) + i])
            if i < 4
            else None,
            "concordance": concordance_about_medians(original[:, i], output[:, i]),
            "lag": best_lag(original[:, i], output[:, i]),
            "spread": float(np.nanstd(original[:, i])),
            "spread out": float(np.nanstd(output[:, i])),
        }
        for i, name in enumerate(SIGNALS)
    }
    blinks, blinks_out = (events(rows[:, 2] < BLINK * np.nanmedian(rows[:, 2])) for rows in (original, output))
    mouths, mouths_out = (
        events(rows[:, 0] > max(OPEN * float(np.nanpercentile(rows[:, 0], 95)), 0.04)) for rows in (original, output)
    )
    return {
        "person": number,
        "frames": len(frames),
        "signals": signals,
        "blinks": len(blinks),
        "blink F1": event_f1(blinks, blinks_out),
        "mouth openings": len(mouths),
        "mouth F1": event_f1(mouths, mouths_out),
        "pose error median": float(np.median(person.apart)),
        "pose error 95 %": float(np.percentile(person.apart, 95)),
        "pose error median, own median off": float(np.median(wobble)),
        "pose error 95 %, own median off": float(np.percentile(wobble, 95)),
        "pose offset": np.median(turned, axis=0).tolist(),
        "flicker original": person.flicker.original,
        "flicker output": person.flicker.output,
        "flicker ratio": person.flicker.ratio,
    }


def show(reports: list[dict[str, object]], faces: int, found: int) -> str:
    """The report as Markdown."""
    parts = [f"Faces {faces}, found again {found} ({100 * found / max(faces, 1):.2f} %)\n"]
    for entry in reports:
        signals = entry.pop("signals")
        assert isinstance(signals, dict)
        rows = [(name, *values.values()) for name, values in signals.items()]
        parts.append(f"Person {entry.pop('person')}, {entry.pop('frames')} frames\n")
        parts.append(markdown(["signal", *next(iter(signals.values()))], rows) + "\n")
        offset = entry.pop("pose offset")
        assert isinstance(offset, list)
        named = [*entry.items(), ("pose offset yaw, pitch, roll", ", ".join(f"{v:.1f}" for v in offset))]
        parts.append(markdown(["", "value"], named) + "\n")
    return "\n".join(parts)


def main(argv: list[str]) -> int:
    """Run; the exit code."""
    parser = parser_of(__name__, __doc__)
    parser.add_argument("video", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--frames", type=int, help="look at so many frames only")
    parser.add_argument("--models", type=Path, default=Path(__file__).parents[2] / "models")
    parser.add_argument("--json", action="store_true", help="print JSON instead of tables")
    given = parser.parse_args(argv)
    try:
        people, faces, found = compare(given.video, given.out, load_model(given.models / "aam.npz"), given.frames)
    except (ValueError, StreamdeidError) as error:
        parser.error(str(error))
    reports = [report(number, person) for number, person in people.items() if len(person.frames) >= LEAST_FRAMES]
    if given.json:
        print(as_json({"video": given.video, "out": given.out, "faces": faces, "found": found, "people": reports}))
    else:
        print(show(reports, faces, found))
    return 0

"""What may be seen of things before faces (observe/occluders.py), and what of a face it shows by mistake?

    python -m benchmarks occluders DIR [--frames N] [--composites N] [--only CLIP ...] [--sheets DIR] [--json]

Three tables over the clips of DIR. Open faces: the clips as they are, where nothing may open; each opened place is
counted, whether or not something did come before a face. Lamps: coloured lights, shadows and clear things drawn on the
largest face of each clip; nothing may open. Things: drawn before the largest face of each clip, coming in or there from
the first frame; the share of a thing's area on the mesh that is to be seen, and the leak: what is shown of pixels that
the thing does not hide, in pixels of the picture, and the frames in which that is so. Lamps and things are drawn into
the first N frames (90) of each clip whose largest face is 64 pixels wide; detector, tracker and landmarker see the
pictures with them. --sheets: a picture of each thing and clip, as it was and as it is published.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from benchmarks.clips import VIDEOS, as_json, markdown
from benchmarks.command_line import parser_of
from benchmarks.leaks.occluders_drawn import Change, Hidden, changes
from streamdeid.aam.fit import FitModel
from streamdeid.aam.synthesise import Patch, render_patch
from streamdeid.core.arrays import Floats
from streamdeid.core.colour import rectangle_to_rgb
from streamdeid.core.frames import Frame, Planes
from streamdeid.errors import StreamdeidError
from streamdeid.observe.neutral import NeutralEstimator
from streamdeid.observe.observation import Observation, Observer
from streamdeid.observe.occluders import OccluderMask
from streamdeid.observe.opening import Opening, shown_through
from streamdeid.observe.outline import reaching
from streamdeid.render.face import Blending, render_surrogate
from streamdeid.render.light import LightFrame
from streamdeid.render.new_face import NewFace
from streamdeid.runs.parts import assemble, default_detector, open_source
from streamdeid.runs.session import Session
from streamdeid.settings import Settings
from streamdeid.surrogates.models import Models, load_models

LEAST = 64.0
"""Width of faces, pixels, before which something is drawn."""
SEEN = 0.02
"""Share of an original pixel from which it counts as shown."""
SHEET_FRAMES = (0.42, 0.5, 0.58, 0.7)
"""Frames of a sheet, shares of the composite's length."""


@dataclass
class Found:
    """Sums over the faces of one run."""

    faces: int = 0
    opened: int = 0
    """Faces of which a pixel was opened."""
    hidden: float = 0.0
    """Pixels on meshes that a thing hides."""
    visible: float = 0.0
    """The share of them that is shown, summed."""
    leak: float = 0.0
    """The shares shown of pixels that no thing hides, summed."""
    leaking: int = 0
    """Faces with such a pixel."""
    pictures: list[NDArray[np.uint8]] = field(default_factory=list)

    def add(self, other: Found) -> None:
        """Add another run's sums."""
        for name in ("faces", "opened", "hidden", "visible", "leak", "leaking"):
            setattr(self, name, getattr(self, name) + getattr(other, name))

    def row(self) -> dict[str, Any]:
        """The sums as columns of a table."""
        seen = 100 * self.visible / self.hidden if self.hidden else None
        return {
            "faces": self.faces,
            "opened": self.opened,
            "visible %": seen,
            "leak": self.leak,
            "leaking": self.leaking,
        }


@dataclass
class _Followed:
    observer: Observer
    mask: OccluderMask
    neutral: NeutralEstimator = field(default_factory=NeutralEstimator)
    blending: Blending = field(default_factory=Blending)


class Run:
    """A clip, changed or not, through detector, tracker, observer and the decision about occluders."""

    def __init__(self, models: Models) -> None:
        self._models = models
        self._fitting = fitting = models.fitting
        self._mean = NewFace.photographed(np.zeros(len(fitting.model.variances)), fitting).small_texture
        self._light = LightFrame.of(fitting)
        some = np.random.default_rng(3).standard_normal(len(fitting.model.variances))
        self._face = NewFace.of(0.7 * some * np.sqrt(fitting.model.variances), fitting)
        self.largest: dict[int, Floats] = {}
        """Points (81, 2) of the largest face by frame, of the last run."""

    def __call__(self, path: Path, frames: int, change: Change | None = None, sheet: Sequence[int] = ()) -> Found:
        """Sums over the first frames of a clip. sheet: frames to keep as pictures, before and after."""
        found = Found()
        self.largest = {}
        followed: dict[int, _Followed] = {}
        for frame, tracks, hidden in _tracked(self._models, path, frames, change):
            out = frame.planes.copy() if frame.index in sheet else None
            for track in tracks:
                if track.face is None or track.face.landmarks is None or track.face.forehead is None:
                    continue
                if track.number not in followed:
                    followed[track.number] = _Followed(Observer(self._fitting), OccluderMask(self._fitting, self._mean))
                state = followed[track.number]
                seen = state.observer(frame.planes, track.face, float(frame.time))
                if seen is None:
                    continue
                if frame.index not in self.largest or seen.width > np.ptp(self.largest[frame.index][:, 0]):
                    self.largest[frame.index] = seen.points
                self._one(found, frame, seen, state, track.ambiguous, hidden, out)
            if out is not None:
                found.pictures += [_picture(frame.planes), _picture(out)]
        return found

    def _one(
        self,
        found: Found,
        frame: Frame,
        seen: Observation,
        state: _Followed,
        doubt: bool,
        hidden: Hidden | None,
        out: Planes | None,
    ) -> None:
        opening = state.mask(seen, doubt)
        if opening is None:
            texture = seen.small_texture
            state.neutral.observe(seen.frontal, seen.pose.yaw, seen.pose.pitch, texture, None, seen.hair)
        found.faces += 1
        counted(found, self._fitting, frame.planes, seen, opening, hidden)
        if out is not None and state.neutral.ready:
            neutral = state.neutral.neutral(float(frame.time))
            render_surrogate(
                out,
                frame.planes,
                seen,
                neutral,
                self._face,
                self._fitting,
                self._light,
                state.blending,
                opening=opening,
            )


def counted(
    found: Found, fitting: FitModel, planes: Planes, seen: Observation, opening: Opening | None, hidden: Hidden | None
) -> None:
    """Add what is opened of one face, and what is hidden of it (by pixel of the picture), to the sums."""
    model = fitting.model
    if opening is None and hidden is None:
        return
    points = reaching(seen.points, seen.places, seen.farthest, seen.width)
    texture = np.zeros((*model.frame_size[::-1], 3), np.float32)
    patch = render_patch(texture, model.mean_shape, points, model.closed_triangles, planes.size, 0.08 * seen.width)
    if patch is None:
        return
    there = np.zeros(patch.y.shape, np.float32) if hidden is None else _part(hidden, patch)
    mesh = patch.covered_luma > 0
    found.hidden += float((mesh & (there > 0.99)).sum())
    if opening is None:
        return
    half = 1 - shown_through(opening, patch, planes, seen, fitting)
    shown = cv2.resize(half, (2 * half.shape[1], 2 * half.shape[0]), interpolation=cv2.INTER_LINEAR)
    shown = shown[: mesh.shape[0], : mesh.shape[1]] * mesh
    found.opened += bool((shown > SEEN).any())
    found.visible += float(shown[there > 0.99].sum())
    leak = shown * (1 - there)
    leak[(shown <= SEEN) | (there > 0.99)] = 0
    found.leak += float(leak.sum())
    found.leaking += bool(leak.any())


def _tracked(
    models: Models, path: Path, frames: int, change: Change | None
) -> Iterator[tuple[Frame, Sequence[Any], Hidden | None]]:
    settings = Settings()
    source = open_source(path, settings)
    info = source.info
    with contextlib.closing(default_detector(settings)) as detect:
        size = info.width, info.height
        stream = assemble(Session(settings, models), detect, size=size, rate=info.average_rate, tested=False)
        for frame in islice(source, frames):
            hidden = None
            if change is not None:
                planes, hidden = change(frame.planes, frame.index)
                frame = replace(frame, planes=planes)
            yield frame, stream.tracker.update(stream.detect(frame), frame.time), hidden


def _part(whole: Hidden, patch: Patch) -> Hidden:
    return whole[patch.y0 : patch.y0 + patch.y.shape[0], patch.x0 : patch.x0 + patch.y.shape[1]]


def _picture(planes: Planes) -> NDArray[np.uint8]:
    rgb = rectangle_to_rgb(planes, 0, 0, *planes.size, min(1.0, 320 / planes.size[1]))
    return np.asarray(rgb[:, :, ::-1], np.uint8)


def measured(
    clips: Sequence[Path], frames: int, composites: int, sheets: Path | None
) -> tuple[list[dict[str, Any]], list[dict[str, Any]], list[dict[str, Any]]]:
    """Rows of open faces by clip, of lamps, and of things. Raises StreamdeidError."""
    run = Run(load_models(None))
    opened = []
    sums: dict[tuple[str, str], Found] = {}
    for path in clips:
        found = run(path, frames)
        opened.append({"clip": path.stem, **found.row()})
        largest = {index: points for index, points in run.largest.items() if index < composites}
        if not largest or np.median([np.ptp(points[:, 0]) for points in largest.values()]) < LEAST:
            continue
        for kind, name, change in changes(largest, composites):
            wanted = [int(share * composites) for share in SHEET_FRAMES] if sheets is not None else []
            found = run(path, composites, change, wanted)
            sums.setdefault((kind, name), Found()).add(found)
            if sheets is not None and found.pictures:
                rows = np.vstack([np.hstack(found.pictures[0::2]), np.hstack(found.pictures[1::2])])
                cv2.imwrite(str(sheets / f"occl-{path.stem}-{name}-{kind}.png".replace(" ", "_")), rows)
    lamps = [{"lamp": name, **found.row()} for (kind, name), found in sums.items() if kind == "lamp"]
    things = [{"thing": name, "how": kind, **f.row()} for (kind, name), f in sums.items() if kind != "lamp"]
    return opened, lamps, things


def main(argv: list[str]) -> int:
    """Run; the exit code."""
    parser = parser_of(__name__, __doc__)
    parser.add_argument("directory", type=Path, metavar="DIR")
    parser.add_argument("--frames", type=int, default=600, help="look at so many frames of each clip")
    parser.add_argument("--composites", type=int, default=90, help="draw into so many frames of each clip")
    parser.add_argument("--only", nargs="+", metavar="CLIP", help="names of clips, without extension")
    parser.add_argument("--sheets", type=Path, metavar="DIR", help="write pictures there")
    parser.add_argument("--json", action="store_true", help="print JSON instead of tables")
    given = parser.parse_args(argv)
    clips = sorted(path for path in given.directory.iterdir() if path.suffix in VIDEOS)
    clips = [path for path in clips if given.only is None or path.stem in given.only]
    if not clips:
        parser.error(f"no clips in {given.directory}")
    try:
        tables = measured(clips, given.frames, given.composites, given.sheets)
    except StreamdeidError as error:
        parser.error(str(error))
    if given.json:
        print(as_json([row for rows in tables for row in rows]))
    else:
        print("\n\n".join(markdown(list(rows[0]), [list(row.values()) for row in rows]) for rows in tables if rows))
    return 0

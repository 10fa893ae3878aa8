"""`warm_up`: runs everything once on rendered faces, so that nothing is compiled later."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import islice
from pathlib import Path

import numpy as np

from streamdeid.aam.fit import FitModel
from streamdeid.aam.mesh_render import render_turned
from streamdeid.aam.pose import HeadPose
from streamdeid.aam.solid_face import seen
from streamdeid.core.bytecode import write_bytecode
from streamdeid.core.colour import planes_from_rgb, rectangle_to_rgb
from streamdeid.core.convex import convex
from streamdeid.core.frames import Planes
from streamdeid.core.kernel_cache import caches, copy_entries
from streamdeid.core.mesh_triangles import TRIANGLES
from streamdeid.errors import OutputError
from streamdeid.observe.keypoint_pose import KeypointPose
from streamdeid.observe.outline import reaching
from streamdeid.protect.soft_redaction import SoftMemory, head_of, soft_redaction
from streamdeid.render.background import Background
from streamdeid.render.light import LightFrame
from streamdeid.render.new_face import NewFace
from streamdeid.render.posed_face import PosedFrame, PosedHead, PosedMemory, render_posed_face
from streamdeid.render.posed_region import face_ellipse
from streamdeid.render.scene_grain import SceneGrain
from streamdeid.render.turned_rim import Reach, RimProfile, covering
from streamdeid.runs import compiled_beside
from streamdeid.runs.pictures import Filter
from streamdeid.settings import Settings
from streamdeid.surrogates.models import load_models
from streamdeid.synthetic.people import synthetic_people
from streamdeid.tracking.lost_faces import LostPlace, motion_of

_SIZES = ((160, 120), (642, 362), (1280, 720))
"""Width and height of the rendered pictures."""
_FRAMES = 3
_DEADLINE = 600.0
"""Seconds that the detector may take for a picture: nobody waits for a warm-up, and a small board, or an emulator that
builds an image, is slow at the first picture."""


@dataclass(frozen=True)
class WarmUp:
    """What a warm-up did."""

    seconds: float
    """Wall time."""
    kernels: int
    """Number of compiled functions that are ready, one for each signature."""
    compiled: int
    """How many of them this process had to compile; the others were found on disk."""
    kept: int
    """How many lie on disk for the next process."""
    places: tuple[Path, ...]
    """The directories in which they lie."""
    bytecode: int
    """Number of Python modules whose bytecode was missing and was written."""


def warm_up(cache: Path | None = None) -> WarmUp:
    """Compile everything that a filter uses and keep it on disk (`streamdeid.core.kernel_cache` says where).

    Runs the detector, the self-test, the fit, both transfers of expressions, rendered and copied eyes, and blending
    over synthetic people at several sizes. Call it when an image is built, or before the first camera is opened: after
    it the first picture of a `Filter` compiles nothing. It takes about 40 s of CPU time, 24 s on two processors, when
    nothing is compiled yet, and 6 s when all kernels are found.

    cache: fill this directory, too; programs that run with `NUMBA_CACHE_DIR` set to it find the kernels there. Raises
    OutputError when it cannot be written, ModelError, and FailedClosed when the self-test fails. It is no error when
    nothing could be kept: `kept` is then 0, and the next process compiles again.
    """
    begun = time.perf_counter()
    compiled_beside.allow()
    models = load_models(None)
    for number, size in enumerate(_SIZES):
        last = number == len(_SIZES) - 1
        settings = Settings(detector_deadline=_DEADLINE)
        if last:
            settings = replace(settings, transfer="paper", eyes="original")
        drawn = synthetic_people(models.fitting, models.gallery, people=min(2, number + 1), size=size)
        with Filter(settings, self_test=number == 0) as filter:
            for one in islice(drawn, _FRAMES):
                rgb = rectangle_to_rgb(one.frame.planes, 0, 0, *size)
                filter(np.ascontiguousarray(rgb[:, :, ::-1]))
    planes = planes_from_rgb(np.full((64, 64, 3), 128, np.uint8))  # synthetic people never need a soft redaction
    soft_redaction(planes, planes.copy(), head_of((16.0, 16.0, 48.0, 48.0), None, planes.size), SoftMemory())
    _draw_what_is_seldom(models.fitting, planes)
    _pose_a_head(models.fitting, planes)
    if cache is not None:
        try:
            copy_entries(cache)
        except OSError as error:
            raise OutputError(f"the cache {cache} cannot be written") from error
    files = [path for each in caches() for path in (*each.found, *each.stored)]
    places = {path.parent for path in files}
    entries = sum(len(each.entries) for each in caches())
    return WarmUp(
        seconds=time.perf_counter() - begun,
        kernels=entries,
        compiled=sum(each.compiled for each in caches()),
        kept=len(files) if cache is None else entries,
        places=tuple(sorted(places | ({cache} if cache is not None else set()))),
        bytecode=write_bytecode(),
    )


def _draw_what_is_seldom(fitting: FitModel, planes: Planes) -> None:
    """Run what the synthetic people do not need: for quick motion, turned heads, and a camera with grain."""
    shape, solid, yaw = fitting.model.mean_shape, fitting.solid, 0.6
    reaching(shape, (1.3 * shape,), (1.3 * shape,), float(np.ptp(shape[:, 0])))
    turn = np.array([[np.cos(yaw), 0, np.sin(yaw)], [0, 1, 0], [-np.sin(yaw), 0, np.cos(yaw)]])
    mesh = seen(solid.mesh, HeadPose(0.2, turn, np.array([16.0, 8.0])))
    texture = np.full((*fitting.model.frame_size[::-1], 3), 128, np.float32)
    corners = np.array([[0.0, 0.0], [63.0, 63.0]])
    drawn = render_turned(texture, solid.mesh[:, :2], mesh, TRIANGLES, planes.size, corners)
    if drawn is not None:
        outline = convex(mesh[:, :2])
        patch = covering(drawn, planes, Reach(outline, 3.0, 5.0, RimProfile.of(mesh, yaw), 1.0, 1.2), 40.0)
        SceneGrain(grain=np.ones((3, 2))).apply(patch)


def _pose_a_head(fitting: FitModel, planes: Planes) -> None:
    """Render a posed face before a background that is known, and look ahead for it: the synthetic people never need
    that."""
    box, background = (20.0, 18.0, 44.0, 48.0), Background()
    for number in range(3):
        background.begin(planes, Fraction(number, 2))
        background.note(planes, [])
    head = PosedHead(KeypointPose(32.0, 32.0, 24.0, 1.2, 0.0, 0.0), face_ellipse(box))
    face = NewFace.photographed(np.zeros(len(fitting.model.variances)), fitting)
    frame = PosedFrame.of(fitting, LightFrame.of(fitting))
    render_posed_face(planes.copy(), planes, head, face, frame, PosedMemory(), background=background)
    motion_of([LostPlace(0.04 * number, np.array(box)) for number in range(3)])

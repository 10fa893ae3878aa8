"""Does a posed face cover the face that it is drawn for, however it is turned, and what does it cost?

    python -m benchmarks posed_heads [--noise SHARE] [--yunet] [--sheet FILE] [--seed N]

Heads of drawn people of 12 to 140 px, turned 0 to 90 degrees, bent 40 down to 40 up, tilted 0 to 180, before a
textured wall. Each gets a posed face by keypoints that are off by a share of the width (0.04), or with --yunet by those
that YuNet sees in its own view of the head; it does not see all of them, and takes every head for an upright one.

Printed by width, turn, bend and tilt: how many were drawn; the share of the original face's area, from hairline to
chin, that is left bare (mean and worst tenth), and of what lies 10 % of the width and more inside of it; milliseconds
of CPU of a posed face with its pose. "usual" are heads turned up to 60, bent up to 20 and tilted up to 30 degrees.
--sheet: pictures of some heads, original and result.

Exit code 1 when 2 % or more is bare on average, or 0.1 % of what is inside; with --yunet of the usual heads.
"""

from __future__ import annotations

import math
import time
from collections import defaultdict
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray

from benchmarks.command_line import parser_of
from streamdeid.aam.fit import FitModel
from streamdeid.aam.mesh_render import render_turned
from streamdeid.aam.solid_face import seen as seen_by
from streamdeid.aam.synthesise import to_yuv
from streamdeid.core.arrays import Box, Points
from streamdeid.core.colour import planes_from_rgb, rectangle_to_rgb, yuv_from_rgb
from streamdeid.core.frames import Planes
from streamdeid.core.mesh_triangles import TRIANGLES
from streamdeid.core.shipped_models import YUNET
from streamdeid.core.shipped_models import network as shipped
from streamdeid.detection.second_look import FOLLOWED
from streamdeid.detection.upright_view import stretched
from streamdeid.detection.yunet import YuNet
from streamdeid.observe.keypoint_pose import KEYPOINT_VERTICES, KeypointPose, MeanHead, pose_of_keypoints
from streamdeid.render.light import LightFrame
from streamdeid.render.new_face import NewFace
from streamdeid.render.posed_face import PosedFrame, PosedHead, PosedMemory, render_posed_face
from streamdeid.render.posed_region import HAIRLINE, face_ellipse
from streamdeid.surrogates.models import load_models

SIZES = 12.0, 16.0, 20.0, 24.0, 32.0, 48.0, 64.0, 96.0, 140.0
YAWS = 0.0, 20.0, 40.0, 60.0, 75.0, 90.0
NODS = -40.0, -20.0, 0.0, 20.0, 40.0
ROLLS = 0.0, 30.0, 100.0, 180.0
USUAL = 60.0, 20.0, 30.0
"""Degrees up to which heads are usual: turned, bent, tilted."""
BARE, BARE_INSIDE = 0.02, 0.001
"""Shares of the area that may be left bare, on average."""
_INSIDE = 0.1
_SEEN = 2.0
"""Side of YuNet's view over the larger side of the head's box (`detection.second_look`)."""
_VIEW = 128
_TOP = np.array([162, 54, 67, 10, 297, 284, 389])
"""Vertices of the mesh's upper edge, each below a point of the hairline."""


@dataclass(frozen=True)
class DrawnHead:
    """A picture of a head, of which everything is known."""

    planes: Planes
    pose: KeypointPose
    keypoints: Points
    box: Box
    """From the middle of the forehead's upper half to the chin, as YuNet boxes faces."""
    face: NDArray[np.uint8]
    """uint8 (h, w): 1 on the face, from hairline to chin."""


@dataclass(frozen=True)
class _Solid:
    """A head as a mesh, and its texture."""

    mesh: Points
    places: Points
    triangles: NDArray[np.int32]
    own: int
    """How many of the triangles are the face's."""
    texture: NDArray[np.float32]


def solid_head(fitting: FitModel, face: NewFace, skin: float, hair: float) -> _Solid:
    """A person's face with a forehead, on a skull with hair, ears and neck. skin: gain; hair: grey level."""
    own = fitting.solid.solid(face.shape, fitting.model.depth)
    line = own[_TOP] + (HAIRLINE - fitting.solid.mesh[_TOP])
    plain = np.median(face.picture.reshape(-1, 3), axis=0)
    swatch = np.ones((len(face.picture), 20, 3), np.float32)
    texture = np.concatenate(
        [face.picture * skin, swatch * plain * skin, swatch * (hair, 0.8 * hair, 0.7 * hair)], axis=1
    )
    width = face.picture.shape[1]
    first = len(own)
    strip = [(first + i, first + i + 1, _TOP[i + 1]) for i in range(6)] + [
        (first + i, _TOP[i + 1], _TOP[i]) for i in range(6)
    ]
    mesh, triangles = [own, line], [TRIANGLES, _both(np.array(strip))]
    places = [fitting.solid.mesh[:, :2], np.full((len(line), 2), (width + 10, 50.0))]
    skinned = len(TRIANGLES) + 2 * len(strip)
    parts = [
        ((99.5, 70, 85), (101, 128, 98), 30.0),
        ((-1, 112, 92), (9, 26, 14), 10.0),
        ((200, 112, 92), (9, 26, 14), 10.0),
        ((99.5, 290, 110), (58, 110, 55), 10.0),
    ]
    for middle, radii, swatch_at in parts:
        ball, faces = _ball()
        triangles.append(faces + sum(len(part) for part in mesh))
        mesh.append(np.array(middle) + ball * radii)
        places.append(np.full((len(ball), 2), (width + swatch_at, 50.0)))
    return _Solid(
        np.concatenate(mesh), np.concatenate(places), np.concatenate(triangles).astype(np.int32), skinned, texture
    )


def drawn_head(solid: _Solid, pose: KeypointPose, head: MeanHead, behind: Planes) -> DrawnHead:
    """A head drawn at a pose before a wall."""
    planes, view = behind.copy(), pose.head_pose(head)
    matrix, offset = yuv_from_rgb(planes.colour)
    mesh = seen_by(solid.mesh, view)
    corners = np.array([[0.0, 0.0], planes.size])
    drawn = render_turned(
        to_yuv(np.clip(solid.texture, 0, 255), matrix, offset),
        solid.places,
        mesh,
        solid.triangles,
        planes.size,
        corners,
    )
    assert drawn is not None
    own, half = drawn.owner >= 0, drawn.owner_chroma >= 0
    planes.y[own] = np.clip(drawn.patch.y[own] + 0.5, 0, 255)
    for c, plane in enumerate((planes.u, planes.v)):
        plane[half] = np.clip(drawn.patch.uv[half][:, c] + 0.5, 0, 255)
    face = ((drawn.owner >= 0) & (drawn.owner < solid.own)).astype(np.uint8)
    points = np.array([mesh[list(some), :2].mean(axis=0) for some in KEYPOINT_VERTICES])
    reach = np.concatenate([mesh[:468, :2], (mesh[_TOP, :2] + mesh[468:475, :2]) / 2])
    (x0, y0), (x1, y1) = reach.min(axis=0), reach.max(axis=0)
    return DrawnHead(planes, pose, points, (float(x0), float(y0), float(x1), float(y1)), face)


def wall(size: int, rng: np.random.Generator) -> Planes:
    """A textured background of size x size pixels."""
    shades = [
        cv2.resize(rng.uniform(30, 210, (n, n, 3)).astype(np.float32), (size, size), interpolation=cv2.INTER_CUBIC)
        for n in (3, 9, 33)
    ]
    return planes_from_rgb(np.clip(0.5 * shades[0] + 0.3 * shades[1] + 0.2 * shades[2], 0, 255).astype(np.uint8))


def yunet_keypoints(network: YuNet, planes: Planes, box: Box) -> tuple[Points, Box] | None:
    """YuNet's points and box of the head in a box, in its own view of it; None where it sees none."""
    side = _SEEN * max(box[2] - box[0], box[3] - box[1])
    middle = np.array([box[0] + box[2], box[1] + box[3]]) / 2
    rgb = rectangle_to_rgb(planes, 0, 0, planes.size[0] & ~1, planes.size[1] & ~1)
    scale = _VIEW / side
    turn = np.array([[scale, 0, _VIEW / 2 - scale * middle[0]], [0, scale, _VIEW / 2 - scale * middle[1]]])
    less = max(1.0, 1 / scale)
    soft = cv2.GaussianBlur(rgb, (0, 0), 0.4 * less) if less > 1 else rgb
    view = cv2.warpAffine(soft, turn, (_VIEW, _VIEW), flags=cv2.INTER_LINEAR, borderMode=cv2.BORDER_REFLECT)
    found = network(stretched(np.asarray(view, np.uint8)))
    near = np.abs((found.boxes[:, :2] + found.boxes[:, 2:]) / 2 - _VIEW / 2).max(axis=1) < 0.3 * _VIEW
    near &= found.scores >= FOLLOWED
    if not near.any():
        return None
    best = int(np.where(near, found.scores, -1).argmax())
    corner = middle - side / 2
    x0, y0, x1, y1 = (float(v) for v in found.boxes[best] / scale + np.tile(corner, 2))
    return (found.points[best] + 0.5) / scale + corner, (x0, y0, x1, y1)  # whole pixels


def _both(triangles: NDArray[np.intp]) -> NDArray[np.intp]:
    """Triangles that are seen from either side."""
    return np.concatenate([triangles, triangles[:, ::-1]])


def _ball() -> tuple[Points, NDArray[np.intp]]:
    """A ball of radius 1: vertices (n, 3) and triangles (t, 3)."""
    rows, columns = 13, 24
    up, around = np.linspace(-np.pi / 2, np.pi / 2, rows), np.linspace(0, 2 * np.pi, columns, endpoint=False)
    points = [(np.cos(a) * np.cos(b), np.sin(a), np.cos(a) * np.sin(b)) for a in up for b in around]
    faces = []
    for i, j in product(range(rows - 1), range(columns)):
        a, b = columns * i + j, columns * i + (j + 1) % columns
        faces += [(a, b, a + columns), (b, b + columns, a + columns)]
    return np.array(points), _both(np.array(faces))


class Figures:
    """What was found of heads of one kind."""

    def __init__(self) -> None:
        self._heads = 0
        self._found: list[tuple[float, float, float]] = []

    def note(self, found: tuple[float, float, float] | None) -> None:
        """Take in one head: shares that are bare, of all and inside, and milliseconds; None where nothing was drawn."""
        self._heads += 1
        if found is not None:
            self._found.append(found)

    @property
    def failed(self) -> bool:
        """Whether too much is bare, or nothing was drawn."""
        return not self._found or bool((np.mean(self._found, axis=0)[:2] >= (BARE, BARE_INSIDE)).any())

    def row(self, name: str) -> str:
        """A line of the table."""
        line = f"{name:<12}{len(self._found):>5} of {self._heads:<5}"
        if self._found:
            bare, inside, milliseconds = np.array(self._found).T
            line += f"{bare.mean():>8.2%}{np.percentile(bare, 90):>8.2%}{inside.mean():>8.2%}"
            line += f"{np.median(milliseconds):>7.2f}"
        return line


def bare_area(head: DrawnHead, region: Points) -> tuple[float, float]:
    """Shares of a face's area that lie outside a region: of all, and of what lies well inside the face."""
    covered = np.zeros_like(head.face)
    cv2.fillConvexPoly(covered, np.round(region * 16).astype(np.int32), (1,), cv2.LINE_8, 4)
    deep = cv2.distanceTransform(head.face, cv2.DIST_L2, 5) >= max(1.0, _INSIDE * head.pose.size)
    left = (head.face > 0) & (covered == 0)
    return float(left.sum() / max(head.face.sum(), 1)), float((left & deep).sum() / max(deep.sum(), 1))


def main(argv: list[str]) -> int:
    """Run the benchmark."""
    parser = parser_of(__name__, __doc__)
    parser.add_argument("--noise", type=float, default=0.04)
    parser.add_argument("--yunet", action="store_true")
    parser.add_argument("--sheet", type=Path)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args(argv)
    cv2.setNumThreads(1)  # as the filter does
    network = YuNet(shipped(YUNET)) if args.yunet else None
    fitting = load_models().fitting
    frame = PosedFrame.of(fitting, LightFrame.of(fitting))
    rng = np.random.default_rng(args.seed)
    spread = 0.7 * np.sqrt(fitting.model.variances)
    people = [rng.standard_normal(len(spread)) * spread for _ in range(6)]
    solids = [
        solid_head(fitting, NewFace.photographed(p, fitting), rng.uniform(0.4, 1.0), rng.uniform(15, 120))
        for p in people
    ]
    faces = [NewFace.of(rng.standard_normal(len(spread)) * spread, fitting) for _ in range(5)]
    figures: defaultdict[str, Figures] = defaultdict(Figures)
    tiles: list[NDArray[np.uint8]] = []
    for number, (size, yaw, nod, roll) in enumerate(product(SIZES, YAWS, NODS, ROLLS)):
        head = _head_at(size, (yaw, nod, roll), solids[number % 6], frame.outline.head, rng)
        seen = _shaken(head, args.noise, rng) if network is None else yunet_keypoints(network, head.planes, head.box)
        out, found = _posed(head, seen, faces[number % 5], frame)
        usual = yaw <= USUAL[0] and abs(nod) <= USUAL[1] and roll <= USUAL[2]
        kinds = [f"{size:.0f} px", f"turned {yaw:.0f}", f"bent {nod:.0f}", f"tilted {roll:.0f}", "all"]
        for name in kinds + ["usual"] * usual:
            figures[name].note(found)
        if found is not None and args.sheet and number % 7 == 0 and len(tiles) < 120:
            tiles.append(_tile(head.planes, out))
    print(f"{'':<12}{'drawn':>8}{'':<6}{'bare':>8}{'p90':>8}{'inside':>8}{'ms':>7}")
    for name in sorted(figures, key=lambda name: (name.split()[-1] == "px", name.split()[0], _number(name))):
        print(figures[name].row(name))
    if args.sheet:
        _write(args.sheet, tiles)
    return int(figures["all" if network is None else "usual"].failed)


def _number(name: str) -> float:
    """The number in the name of a kind of heads."""
    return next((float(word) for word in name.split() if word.lstrip("-").isdigit()), 0.0)


def _head_at(
    size: float, angles: tuple[float, float, float], solid: _Solid, head: MeanHead, rng: np.random.Generator
) -> DrawnHead:
    """A head of a width in pixels, turned, bent and tilted by so many degrees, to either side."""
    side = 2 * math.ceil(1.6 * size + 12)
    yaw, nod, roll = np.radians(angles) * (rng.choice([-1, 1]), 1, rng.choice([-1, 1]))
    pose = KeypointPose(side / 2 + rng.uniform(), side / 2 + rng.uniform(), size, float(yaw), float(nod), float(roll))
    return drawn_head(solid, pose, head, wall(side, rng))


def _shaken(head: DrawnHead, noise: float, rng: np.random.Generator) -> tuple[Points, Box]:
    """A head's keypoints and box, off by a share of its width."""
    x0, y0, x1, y1 = (float(v) for v in np.array(head.box) + rng.normal(0, noise * head.pose.size, 4))
    return head.keypoints + rng.normal(0, noise * head.pose.size, (5, 2)), (x0, y0, x1, y1)


def _posed(
    head: DrawnHead, seen: tuple[Points, Box] | None, face: NewFace, frame: PosedFrame
) -> tuple[Planes, tuple[float, float, float] | None]:
    """The picture with a posed face; its bare area, that inside, and milliseconds. None where there was none."""
    out, memory = head.planes.copy(), PosedMemory()
    if seen is None:
        return out, None
    best = math.inf
    for _ in range(3):  # the first one draws what is kept of a surrogate
        out = head.planes.copy()
        start = time.process_time()
        pose = pose_of_keypoints(*seen, frame.outline.head)
        if pose is None:
            return out, None
        region = render_posed_face(out, head.planes, PosedHead(pose, face_ellipse(seen[1])), face, frame, memory)
        best = min(best, time.process_time() - start)
        if region is None:
            return out, None
    return out, (*bare_area(head, region), 1000 * best)


def _tile(before: Planes, after: Planes) -> NDArray[np.uint8]:
    """Both pictures side by side, BGR uint8 (140, 280, 3)."""
    sides = [rectangle_to_rgb(p, 0, 0, p.size[0] & ~1, p.size[1] & ~1)[:, :, ::-1] for p in (before, after)]
    return np.hstack([np.asarray(cv2.resize(s, (140, 140), interpolation=cv2.INTER_CUBIC), np.uint8) for s in sides])


def _write(path: Path, tiles: list[NDArray[np.uint8]]) -> None:
    rows = [tiles[i : i + 6] for i in range(0, len(tiles) - len(tiles) % 6, 6)]
    cv2.imwrite(str(path), np.vstack([np.hstack(row) for row in rows]))

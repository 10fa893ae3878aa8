"""The keypoints of the faces of a chunk as few bytes: they differ little from those of the nearest face before.

A detector asks for them in some frames and moves them along with the face's box in others, so counted from that box
they stay nearly where they were. Whole numbers all through, as in `point_coding`.

Bytes of a chunk, of the faces that have keypoints: references uint8 (f,), scores uint16 (f,), differences uint16
(f, 7, 2) in zigzag, each of these as its lowest bytes, then the next.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from streamdeid.analysis.point_coding import Misfit, from_planes, nearest_before, planes
from streamdeid.analysis.stored_faces import HAS_KEYPOINTS, KEYS, OUTERMOST, SHARES, FaceNumbers, KeypointNumbers
from streamdeid.core.arrays import Ints

_BYTES = 1 + 2 + 2 * 2 * KEYS


def coded_keypoints(faces: Sequence[FaceNumbers], *, predict: bool = True) -> bytes:
    """The keypoints of faces, in the order in which they were found; predict: as in `point_coding.coded`."""
    group = [face for face in faces if face.keypoints is not None]
    own = [face.keypoints for face in group if face.keypoints is not None]
    references, left = bytearray(), np.zeros((len(own), KEYS, 2), np.int64)
    for i, keys in enumerate(own):
        nearest = nearest_before(group, i) if predict else None
        references.append(0 if nearest is None else i - nearest)
        left[i] = keys.points if nearest is None else keys.points - own[nearest].points
    scores = np.array([keys.score for keys in own], "<u2")
    return bytes(references) + planes(scores) + planes(((left << 1) ^ (left >> 63)).astype("<u2"))


def keypoint_bytes(parts: Sequence[int]) -> int:
    """Length of what `coded_keypoints` makes of faces with these parts."""
    return _BYTES * sum(bool(part & HAS_KEYPOINTS) for part in parts)


def decoded_keypoints(data: bytes, at: int, parts: Sequence[int]) -> list[KeypointNumbers | None]:
    """The keypoints of each face, None for one without. data: from `at` on `keypoint_bytes` of them. Raises Misfit."""
    rows = [i for i, part in enumerate(parts) if part & HAS_KEYPOINTS]
    references, count = data[at : at + len(rows)], len(rows)
    scores = from_planes(data, at + count, (count,), "<u2")
    zigzag = from_planes(data, at + 3 * count, (count, KEYS, 2), "<u2").astype(np.int64)
    points: Ints = (zigzag >> 1) ^ -(zigzag & 1)
    if (scores > SHARES).any():
        raise Misfit("keypoints with a score larger than 1")
    found: list[KeypointNumbers | None] = [None] * len(parts)
    for i, (row, back) in enumerate(zip(rows, references, strict=True)):
        if back > i:
            raise Misfit("keypoints that are predicted from none")
        if back:
            points[i] += points[i - back]
        if np.abs(points[i]).max() > OUTERMOST:
            raise Misfit("keypoints far outside their face")
        if (points[i, 1] <= points[i, 0]).any():
            raise Misfit("keypoints with an empty box")
        found[row] = KeypointNumbers(points[i], int(scores[i]))
    return found

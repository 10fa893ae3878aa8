"""Codes the keypoints of a chunk's faces in few bytes, as differences from the keypoints of the nearest earlier face.

Keypoints are found in some frames and moved along with the face's box in the others, so relative to that box they
hardly change. All arithmetic is in whole numbers, as in `point_coding`.

Bytes of a chunk, for the f faces that have keypoints: references uint8 (f,), scores uint16 (f,), differences uint16
(f, 7, 2) in zigzag. Of each array the lowest bytes come first, then the next ones.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from streamdeid.analysis.point_coding import Misfit, from_planes, nearest_before, planes
from streamdeid.analysis.stored_faces import HAS_KEYPOINTS, KEYS, OUTERMOST, SHARES, FaceNumbers, KeypointNumbers
from streamdeid.core.arrays import Ints

_BYTES = 1 + 2 + 2 * 2 * KEYS


def coded_keypoints(faces: Sequence[FaceNumbers], *, predict: bool = True) -> bytes:
    """The coded keypoints of faces, in the order in which they were found. predict: as in `point_coding.coded`."""
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
    """Length in bytes of what `coded_keypoints` makes of faces with these parts."""
    return _BYTES * sum(bool(part & HAS_KEYPOINTS) for part in parts)


def decoded_keypoints(data: bytes, at: int, parts: Sequence[int]) -> list[KeypointNumbers | None]:
    """The keypoints of each face, or None. data: holds `keypoint_bytes(parts)` bytes from `at` on. Raises Misfit."""
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

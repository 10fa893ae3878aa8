"""The papers' expression transfer (`k_same.furthest_fet`), frame by frame, in the form that rendering needs.

It is chosen by `--transfer paper`.
"""

from __future__ import annotations

from dataclasses import replace

import cv2
import numpy as np

from streamdeid.aam.fit import FitModel
from streamdeid.aam.procrustes import align
from streamdeid.aam.synthesise import extended
from streamdeid.core.arrays import Pixels, Points
from streamdeid.k_same.furthest_fet import transfer_shape, transfer_texture
from streamdeid.observe.neutral import Neutral
from streamdeid.observe.observation import Observation
from streamdeid.render.new_face import NewFace, reduced_texture


class PaperTransfer:
    """P4's transfer of an expression, from observations of a frame to a shape and a face that can be rendered.

    The small texture is used instead of the full one: the expression's part of a texture is as smooth as the fit's
    frame is coarse.
    """

    def __init__(self, fitting: FitModel) -> None:
        self._fitting = fitting

    def __call__(self, seen: Observation, neutral: Neutral, face: NewFace) -> tuple[Points, NewFace]:
        """The shape (81, 2) and the texture of the surrogate with this frame's expression."""
        model = self._fitting.model
        onto = align(face.shape, model.mean_shape)
        shape = transfer_shape(model, seen.frontal, neutral.shape, onto(face.shape))
        full, rest = (self._enlarged(t) for t in (seen.small_texture, neutral.small_texture))
        texture = transfer_texture(model, full, rest, face.vector)
        picture = model.albedo.even(extended(texture, model.table), face.beard)
        small = reduced_texture(picture, self._fitting.table)
        return onto.inverse()(shape), replace(face, picture=picture, small_texture=small)

    def _enlarged(self, small: Pixels) -> Pixels:
        model, table = self._fitting.model, self._fitting.table
        picture = cv2.resize(extended(small, table), model.frame_size, interpolation=cv2.INTER_LINEAR)
        return np.ascontiguousarray(picture[model.table.rows, model.table.columns])

"""A surrogate's neutral face, ready to be rendered: it is decoded once per person and rendered in every frame."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TypeVar

import cv2
import numpy as np
from numpy.typing import NDArray

from streamdeid.aam.appearance_model import AppearanceModel
from streamdeid.aam.fit import FitModel
from streamdeid.aam.lip_fullness import with_lips_at_most
from streamdeid.aam.piecewise_affine import WarpTable
from streamdeid.aam.synthesise import extended
from streamdeid.core.arrays import Pixels, Points
from streamdeid.core.ibug68 import LEFT_EYE, RIGHT_EYE
from streamdeid.render.childlike import childlike_shape, childlike_skin
from streamdeid.render.eyes import EyeColours, alike, eye_colours, shut
from streamdeid.render.sharp_features import sharpened
from streamdeid.render.thin_brows import with_thin_brows

_Float = TypeVar("_Float", bound=np.floating)

_FULL = 0.39, 0.25
"""Fullness of lips beyond which only a share is left of the excess, and that share. Three quarters of London's donors
have at most the first (median .35, the fullest .61). Very full lips of mixed donors look blown up, most of all in a
smile (six surrogates, by eye)."""


@dataclass(frozen=True)
class NewFace:
    """The neutral shape and texture of a surrogate."""

    vector: Points
    """float64 (d,): the surrogate P itself; for a face on the way to another one, the vector between them."""
    shape: Points
    """float64 (81, 2), the model's frame."""
    picture: Pixels
    """float32 (h, w, 3): RGB of its even skin (`aam.albedo`) in the model's frame; its rim is repeated outside."""
    small_texture: Pixels
    """float32 (f, 3): the same in the small frame of light."""
    eyes: tuple[EyeColours, EyeColours]
    """Colours of the eyes, image-left first."""
    beard: bool = True
    """Whether darkness about the mouth is shown."""

    @classmethod
    def of(cls, vector: Points, fitting: FitModel, beard: bool = True, child: bool = False) -> NewFace:
        """Decode a surrogate vector (d,).

        beard: whether darkness about the mouth may be shown. child: as a child's face, which shows none.
        """
        model: AppearanceModel = fitting.model
        beard = beard and not child
        shape, texture = model.decode(vector)
        sharp = sharpened(model.albedo.even(extended(texture, model.table), beard), model)
        picture = with_thin_brows(sharp, model.albedo.zones)
        shape = with_lips_at_most(shape, *_FULL)
        if child:
            shape, picture = childlike_shape(shape, model.mean_shape), childlike_skin(picture, model.albedo.zones)
        return cls._renderable(vector, shape, model.contact_line.drawn(picture), fitting, beard)

    @classmethod
    def photographed(cls, vector: Points, fitting: FitModel) -> NewFace:
        """Decode a vector (d,) as a person whom a camera sees: with their own skin and the training set's light."""
        shape, texture = fitting.model.decode(vector)
        return cls._renderable(vector, shape, extended(texture, fitting.model.table), fitting, True)

    def towards(self, other: NewFace, share: float) -> NewFace:
        """A face on the way to another one, of which a share (0 to 1) is done.

        This takes half a millisecond; to decode the vector between the two takes as long as two frames. The skin
        differs from the decoded one's by less than a grey level in the mean.
        """

        def between(one: NDArray[_Float], two: NDArray[_Float]) -> NDArray[_Float]:
            return np.asarray(one + one.dtype.type(share) * (two - one), one.dtype)

        eyes = [
            EyeColours(*(between(getattr(one, of.name), getattr(two, of.name)) for of in fields(EyeColours)))
            for one, two in zip(self.eyes, other.eyes, strict=True)
        ]
        return NewFace(
            between(self.vector, other.vector),
            between(self.shape, other.shape),
            between(self.picture, other.picture),
            between(self.small_texture, other.small_texture),
            (eyes[0], eyes[1]),
            other.beard if share >= 0.5 else self.beard,
        )

    @classmethod
    def _renderable(cls, vector: Points, shape: Points, picture: Pixels, fitting: FitModel, beard: bool) -> NewFace:
        model = fitting.model
        small = reduced_texture(picture, fitting.table)
        skin = np.median(picture, axis=(0, 1))
        left, right = (
            eye_colours(picture, model.mean_shape[lids], iris, skin)
            for lids, iris in zip((LEFT_EYE, RIGHT_EYE), model.iris, strict=True)
        )
        for lids in (LEFT_EYE, RIGHT_EYE):
            shut(picture, model.mean_shape[lids])
        return cls(vector, shape, picture, small, alike(left, right), beard)


def reduced_texture(picture: Pixels, table: WarpTable) -> Pixels:
    """The small texture (f, 3), over a small frame's table, of a texture picture (h, w, 3)."""
    small = cv2.resize(picture, table.size, interpolation=cv2.INTER_AREA)
    return np.ascontiguousarray(small[table.rows, table.columns], np.float32)

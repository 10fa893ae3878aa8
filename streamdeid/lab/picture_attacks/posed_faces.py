"""Photographs published with posed faces: the second protection level, in the stream's own parts, and small.

Each is turned small first, so that its face has the width of a face that is posed. Beside what is published is its
control: the same picture, with the very region that the posed face replaced in black. Outline, hair and ears beyond
that region are in both, so what the two differ in is what the posed face itself tells.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import cv2
import numpy as np

from streamdeid.aam.fit import FitModel
from streamdeid.aam.photographs import Photograph, identity_of, reduced
from streamdeid.core.arrays import Picture, Points
from streamdeid.errors import FailedClosed
from streamdeid.lab.picture_attacks.picture_sets import PictureSet, black_hull, originals
from streamdeid.lab.published_pictures import even_planes, whole_rgb
from streamdeid.observe.observation import Observer
from streamdeid.observe.posed_view import PosedReader
from streamdeid.render.light import LightFrame
from streamdeid.render.new_face import NewFace
from streamdeid.render.posed_face import PosedFrame, PosedHead, PosedMemory, render_posed_face
from streamdeid.render.posed_region import face_ellipse
from streamdeid.surrogates.choice import SAMPLED, Surrogates, SurrogateSettings
from streamdeid.surrogates.gallery import Gallery

WIDTHS = (24.0, 40.0, 60.0)
"""Widths in pixels of the faces that are attacked."""


@dataclass(frozen=True)
class PosedSets:
    """Pictures of the same people at one width, in the order of a report: the first three are controls."""

    unaltered: PictureSet
    black_hull: PictureSet
    black_region: PictureSet
    """One picture for each of `posed`: the region that was replaced, in black."""
    posed: PictureSet

    @property
    def named(self) -> Mapping[str, PictureSet]:
        """By name."""
        return {given.name: given for given in (self.unaltered, self.black_hull, self.black_region, self.posed)}


def small(photographs: Sequence[Photograph], width: float) -> tuple[Photograph, ...]:
    """Photographs turned small by area, so that each face is at most so many pixels wide."""
    return tuple(reduced(photograph, width) for photograph in photographs)


def unaltered_at(width: float) -> str:
    """Name of the small photographs as they are."""
    return f"unaltered, {width:g} px"


def black_hull_at(width: float) -> str:
    """Name of the small photographs with the face's hull in black."""
    return f"black hull, {width:g} px"


def black_region_at(width: float) -> str:
    """Name of the small photographs with the posed face's region in black."""
    return f"black hull of the posed region, {width:g} px"


def posed_at(width: float) -> str:
    """Name of the small photographs with posed faces, surrogates of the default method."""
    return f"{SAMPLED}, posed, {width:g} px"


def posed_sets(
    photographs: Sequence[Photograph], width: float, fitting: FitModel, gallery: Gallery, keys: Sequence[bytes]
) -> PosedSets:
    """Photographs turned small, with the surrogate of their person as a posed face, once per key, and the controls.

    The surrogate, and how dark the hair is, are of the large photograph: a stream knows people by their best pictures.
    """
    frame = PosedFrame.of(fitting, LightFrame.of(fitting))
    identities = [identity_of(photograph, fitting.model) for photograph in photographs]
    hairs = [_hair(photograph, fitting) for photograph in photographs]
    shown = small(photographs, width)
    pictures, black, sources, sessions, refused = [], [], [], [], 0
    for number, key in enumerate(keys):
        choice = Surrogates(gallery, fitting.model.variances, SurrogateSettings(method=SAMPLED, preserve=()), key)
        people = zip(shown, identities, hairs, strict=True)
        for person, (photograph, identity, hair) in enumerate(people, start=1):
            try:
                chosen = choice.surrogate(person, identity)
                face = NewFace.of(chosen.vector, fitting, chosen.beard)
            except FailedClosed:
                refused += 1
                continue
            found = posed(photograph, face, frame, hair)
            if found is None:
                refused += 1
                continue
            pictures.append(found[0])
            black.append(_blackened(photograph, found[1]))
            sources.append(photograph)
            sessions.append(number)
    whole = PictureSet(posed_at(width), tuple(pictures), tuple(sources), tuple(sessions), refused)
    return PosedSets(
        originals(shown, unaltered_at(width)),
        black_hull(shown, black_hull_at(width)),
        replace(whole, name=black_region_at(width), pictures=tuple(black), refused=0),
        whole,
    )


def posed(
    photograph: Photograph, face: NewFace, frame: PosedFrame, hair: float | None = None
) -> tuple[Picture, Points] | None:
    """A photograph with a posed face, and the region (n, 2) that it replaced; None where nothing tells its pose.

    hair: how dark the person's hair is (`HairDarkness`), if known.
    The pose is that of the keypoints of its landmarks, as the stream reads them where no second network was asked.
    """
    view = PosedReader(frame.outline.head)(replace(photograph.face, keypoints=None), 0.0)
    if view is None or view.turned_away:
        return None
    planes = even_planes(photograph.image)
    out = planes.copy()
    head = PosedHead(view.pose, face_ellipse(view.box), sighted=face_ellipse(view.sighted), hair=hair)
    region = render_posed_face(out, planes, head, face, frame, PosedMemory())
    return None if region is None else (whole_rgb(out), region)


def _hair(photograph: Photograph, fitting: FitModel) -> float | None:
    """How dark the hair is in a photograph, as the stream reads it; None where none is seen."""
    seen = Observer(fitting)(even_planes(photograph.image), photograph.face, 0.0)
    return None if seen is None else seen.hair


def _blackened(photograph: Photograph, region: Points) -> Picture:
    """The same picture with the region black."""
    out = whole_rgb(even_planes(photograph.image)).copy()
    cv2.fillConvexPoly(out, np.round(region * 16).astype(np.int32), (0, 0, 0), cv2.LINE_8, 4)
    return out

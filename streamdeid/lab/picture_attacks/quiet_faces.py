"""Photographs published with quiet faces: the second protection level, in the stream's own parts."""

from __future__ import annotations

from collections.abc import Sequence

from streamdeid.aam.fit import FitModel
from streamdeid.aam.photographs import Photograph, identity_of
from streamdeid.errors import FailedClosed
from streamdeid.lab.picture_attacks.picture_sets import Picture, PictureSet
from streamdeid.lab.picture_attacks.redacted_heads import head_in
from streamdeid.lab.published_pictures import even_planes, whole_rgb
from streamdeid.observe.observation import Observer
from streamdeid.protect.soft_redaction import SoftMemory, soft_redaction
from streamdeid.render.light import LightFrame
from streamdeid.render.new_face import NewFace
from streamdeid.render.quiet_face import render_quiet_face
from streamdeid.surrogates.choice import Surrogates, SurrogateSettings
from streamdeid.surrogates.gallery import Gallery


def published_quietly(
    photographs: Sequence[Photograph], fitting: FitModel, gallery: Gallery, method: str, keys: Sequence[bytes]
) -> PictureSet:
    """Each photograph with the surrogate of its person as a quiet face in a soft redaction, once per key."""
    light = LightFrame.of(fitting)
    identities = [identity_of(photograph, fitting.model) for photograph in photographs]
    pictures, sources, sessions, refused = [], [], [], 0
    for number, key in enumerate(keys):
        choice = Surrogates(gallery, fitting.model.variances, SurrogateSettings(method=method, preserve=()), key)
        for person, (photograph, identity) in enumerate(zip(photographs, identities, strict=True), start=1):
            try:
                chosen = choice.surrogate(person, identity)
                face = NewFace.of(chosen.vector, fitting, chosen.beard)
            except FailedClosed:
                refused += 1
                continue
            picture = _quiet(photograph, face, fitting, light)
            if picture is None:
                refused += 1
                continue
            pictures.append(picture)
            sources.append(photograph)
            sessions.append(number)
    return PictureSet(f"{method}, quiet", tuple(pictures), tuple(sources), tuple(sessions), refused)


def _quiet(photograph: Photograph, face: NewFace, fitting: FitModel, light: LightFrame) -> Picture | None:
    planes = even_planes(photograph.image)
    seen = Observer(fitting)(planes, photograph.face, 0.0)
    out = planes.copy()
    if seen is None or soft_redaction(out, planes, head_in(photograph), SoftMemory()) is None:
        return None
    return whole_rgb(out) if render_quiet_face(out, seen, face, fitting, light) else None

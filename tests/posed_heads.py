"""Posed faces in tests, as the stream renders them in a first sighting; with the light held, if wanted.

A posed face reads five numbers of light in the region that it replaces. Whoever asks whether any pixel of the original
is left has to hold them: another picture has another light.
"""

from __future__ import annotations

from streamdeid.core.faces import Face
from streamdeid.core.frames import Planes
from streamdeid.observe.posed_view import PosedReader
from streamdeid.render.new_face import NewFace
from streamdeid.render.posed_face import STILL, PosedFrame, PosedHead, PosedMemory, render_posed_face
from streamdeid.render.posed_light import PosedLight
from streamdeid.render.posed_region import face_ellipse


def pose_face(
    out: Planes, original: Planes, found: Face, face: NewFace, frame: PosedFrame, memory: PosedMemory
) -> bool:
    """Render a posed face, in place, by the keypoints of what the detector found; False where it cannot be."""
    view = PosedReader(frame.outline.head)(found, 0.0)
    if view is None:
        return False
    head = PosedHead(view.pose, face_ellipse(view.box), sighted=face_ellipse(view.sighted))
    return render_posed_face(out, original, head, face, frame, memory) is not None


def lit_alike(memory: PosedMemory, face: NewFace, frame: PosedFrame) -> PosedMemory:
    """A memory of the same numbers of light, so that none are read in the next picture."""
    assert memory.light.numbers is not None
    held = PosedMemory()
    held.shape(face, STILL, frame)
    held.light = PosedLight(memory.light.numbers.copy(), frames=1)
    return held

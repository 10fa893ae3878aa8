"""The whitelist of a run: reads its pictures, chooses its recogniser, and puts its rule around the de-identifier."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray

from streamdeid.aam.appearance_model import AppearanceModel
from streamdeid.core.arrays import Vector
from streamdeid.core.colour import planes_from_rgb
from streamdeid.core.faces import Face
from streamdeid.errors import FailedClosed, InputError, SettingsError
from streamdeid.identity.picture_recognisers import DlibResnet, OnnxRecogniser
from streamdeid.identity.recognised_faces import Known, Recogniser, sharpness_of, unfit, vector_of
from streamdeid.identity.upper_face import ACCEPT, UpperFace
from streamdeid.observe.signals import Sharpness
from streamdeid.protect.fixed_regions import FixedRegions
from streamdeid.protect.mask_faces import MaskFaces
from streamdeid.protect.plan import Deidentifier
from streamdeid.protect.replace_faces import ReplaceFaces
from streamdeid.protect.whitelist import Whitelist
from streamdeid.settings import BUILT_IN, DLIB, Settings

Detect = Callable[[NDArray[np.uint8]], Sequence[Face]]

LEAST_WIDTH = 80.0
"""Least width in pixels of a face in a whitelisted picture."""
DLIB_ACCEPT = 0.45
"""Largest distance that counts as the same person for dlib's recogniser: 1 in 10,000 pairs of different people of the
London set are as near (`benchmarks/people/whitelist.py --dlib`)."""
_FACE = 0.5
"""Least detector score at which a find without landmarks counts as another face; hair and collars reach less."""


def recogniser_of(settings: Settings, model: AppearanceModel) -> Recogniser:
    """The recogniser that the settings name. Raises SettingsError when it cannot be loaded."""
    accept = settings.whitelist_threshold
    if settings.whitelist_recogniser == BUILT_IN:
        return Recogniser(UpperFace(model), ACCEPT if accept is None else accept)
    if settings.whitelist_recogniser == DLIB:
        return Recogniser(DlibResnet(), DLIB_ACCEPT if accept is None else accept)
    assert accept is not None  # `Settings` insists on it
    try:
        return Recogniser(OnnxRecogniser(Path(settings.whitelist_recogniser)), accept)
    except InputError as error:
        raise SettingsError(str(error)) from error


def read_whitelist(pictures: Sequence[Path], recogniser: Recogniser, model: AppearanceModel, detect: Detect) -> Known:
    """The people in some pictures, each of which shows exactly one face.

    detect: the default detector on RGB photographs. Raises SettingsError, one line, for a picture that cannot be used.
    """
    vectors = [_vector(path, recogniser, model, detect) for path in pictures]
    return Known(recogniser, np.stack(vectors))


def _vector(path: Path, recogniser: Recogniser, model: AppearanceModel, detect: Detect) -> Vector:
    where = f"whitelisted picture {path}"
    if not path.is_file():
        raise SettingsError(f"{where} does not exist" if not path.exists() else f"{where} is not a file")
    try:
        picture = cv2.imread(str(path), cv2.IMREAD_COLOR)
    except cv2.error as error:  # a header that announces more pixels than OpenCV takes
        raise SettingsError(f"{where} is not a picture that can be read") from error
    if picture is None:
        raise SettingsError(f"{where} is not a picture that can be read")
    if min(picture.shape[:2]) < 2:
        raise SettingsError(f"{where} shows no face")
    image = np.ascontiguousarray(picture[:, :, ::-1], np.uint8)
    faces = [face for face in detect(image) if face.landmarks is not None or face.score >= _FACE]
    if len(faces) != 1:
        shown = f"{len(faces)} faces" if faces else "no face"
        raise SettingsError(f"{where} shows {shown}; it must show exactly one")
    reason = unfit(faces[0], model, LEAST_WIDTH)
    if reason is not None:
        raise SettingsError(f"the face in {where} {reason}")
    planes = planes_from_rgb(image)
    if not sharpness_of(planes, faces[0], model, Sharpness(model.fit_table)) >= recogniser.sharpness:
        raise SettingsError(f"the face in {where} is too blurred")
    try:
        vector = vector_of(planes, faces[0], model, recogniser.describe)
    except FailedClosed as error:
        raise SettingsError(f"{where}: {error}") from error
    if vector is None:
        raise SettingsError(f"the face in {where} cannot be recognised")
    return vector


def laid_around(
    faces: ReplaceFaces | None,
    settings: Settings,
    known: Known | None,
    model: AppearanceModel,
    size: tuple[int, int] | None,
) -> Deidentifier:
    """What replaces the faces, or the mask of the settings where nothing does, with the whitelist around it if there is
    one, and the regions around both if any.

    size: (width, height) of the pictures, where known. Raises SettingsError for a region outside them.
    """
    outer: Deidentifier = MaskFaces(settings.method) if faces is None else faces
    if known is not None:
        outer = Whitelist(outer, known, model) if faces is None else Whitelist(outer, known, model, faces.allows)
    if settings.regions:
        if size is not None:
            for region in settings.regions:
                region.on(size)
        outer = FixedRegions(outer, settings.regions)
    return outer

"""Training of an appearance model on photographs (methods.md 1.11); training twice gives the same file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray

from streamdeid.aam.albedo import studio_field, zones_inside
from streamdeid.aam.appearance_model import AppearanceModel
from streamdeid.aam.clean_texture import even_light, hair_zone, matt_zone, without_hair
from streamdeid.aam.pca import principal_components
from streamdeid.aam.piecewise_affine import WarpTable, sample, scaled_table, triangulate, warp_table
from streamdeid.aam.procrustes import align, generalised_procrustes
from streamdeid.aam.smile import learn_smile
from streamdeid.aam.synthesise import extended
from streamdeid.core.arrays import Pixels, Points
from streamdeid.core.face_mesh import MESH_MIRROR
from streamdeid.core.faces import Face
from streamdeid.core.ibug68 import INNER_LIP, LEFT_EYE, MIRROR, OUTLINE, RIGHT_EYE
from streamdeid.errors import InputError

_DARK = 8.0
"""Grey levels added before logarithms: dark pixels are mostly noise."""
_MARGIN = 3.0
"""Pixels between the mean shape and the border of the frame."""

Annotate = Callable[[NDArray[np.uint8]], Sequence[Face]]


@dataclass(frozen=True)
class TrainingSettings:
    """Sizes of a model, chosen by the tables in models/CARD.md."""

    width: int = 200
    """Width of the model's frame in pixels."""
    share: float = 0.98
    """Share of the variance kept, of shape and of texture."""
    most_texture: int = 120
    """Most texture components."""
    fit_width: int = 64
    fit_components: int = 40


@dataclass(frozen=True)
class Sample:
    """One annotated photograph."""

    image: NDArray[np.uint8]
    """RGB, uint8 (h, w, 3)."""
    points: Points
    """float64 (81, 2)."""
    depth: Points
    iris: Points
    """float64 (2, 3): centre x, y and radius in each eye, pixels of the photograph."""
    mesh: Points
    """float64 (468, 3): the landmarker's mesh (`Face.mesh`)."""


def annotate(path: Path, detect: Annotate) -> Sample:
    """Read a photograph and find the one face in it. Raises InputError when there is none or more than one."""
    picture = cv2.imread(str(path), cv2.IMREAD_COLOR)
    if picture is None:
        raise InputError(f"{path} is not a picture that can be read")
    image: NDArray[np.uint8] = np.ascontiguousarray(picture[:, :, ::-1])
    faces = [face for face in detect(image) if face.landmarks is not None]
    if len(faces) != 1:
        raise InputError(f"{path} shows {len(faces)} faces; training needs exactly one")
    return sample_of(image, faces[0], str(path))


def sample_of(image: NDArray[np.uint8], face: Face, name: str = "face") -> Sample:
    """A training sample of an RGB picture (h, w, 3) and the face found in it."""
    if face.landmarks is None or face.forehead is None or face.iris is None or face.depth is None or face.mesh is None:
        raise InputError(f"{name}: training needs landmarks, forehead, iris, depth and mesh")
    rim = np.linalg.norm(face.iris[:, 1:] - face.iris[:, :1], axis=2).mean(axis=1)
    iris = np.concatenate([face.iris[:, 0], rim[:, None]], axis=1)
    return Sample(image, np.concatenate([face.landmarks, face.forehead]), face.depth, iris, face.mesh)


def mirrored(given: Sample) -> Sample:
    """The sample seen in a mirror."""
    width = given.image.shape[1]
    points = given.points[MIRROR] * (-1, 1) + (width - 1, 0)
    iris = given.iris[::-1] * (-1, 1, 1) + (width - 1, 0, 0)
    mesh = given.mesh[MESH_MIRROR] * (-1, 1, 1) + (width - 1, 0, 0)
    return Sample(np.ascontiguousarray(given.image[:, ::-1]), points, given.depth[MIRROR], iris, mesh)


def train(
    samples: Sequence[Sample], settings: TrainingSettings = TrainingSettings(), smiles: Sequence[tuple[int, int]] = ()
) -> AppearanceModel:
    """Train a model on photographs; mirror images are added here, so the mean face is symmetric.

    smiles: for each person with both photographs, the numbers of the samples at rest and smiling.
    """
    everything = [pair for given in samples for pair in (given, mirrored(given))]
    mean, aligned = generalised_procrustes(np.stack([s.points for s in everything]))
    mean = (mean + mean[MIRROR] * (-1, 1)) / 2
    low, high = mean.min(axis=0), mean.max(axis=0)
    scale = (settings.width - 1 - 2 * _MARGIN) / float(high[0] - low[0])
    size = settings.width, int(np.ceil((high[1] - low[1]) * scale + 1 + 2 * _MARGIN))
    place = _MARGIN - low * scale
    mean_shape, shapes = mean * scale + place, aligned * scale + place
    shapes = np.stack([align(shape, mean_shape)(shape) for shape in shapes])
    shape_components = principal_components((shapes - mean_shape).reshape(len(shapes), -1), settings.share)
    triangles = _without_mouth(triangulate(mean_shape, OUTLINE), mean_shape)

    table = warp_table(mean_shape, triangles, size)
    textures = np.stack([texture_of_sample(s, mean_shape, table) for s in everything])
    skin = np.median(textures, axis=0)
    zone = hair_zone(mean_shape, table)
    textures = np.stack([without_hair(texture, skin, zone, table) for texture in textures])
    level = textures.mean(axis=(0, 1))
    textures *= level / textures.mean(axis=1, keepdims=True)
    skin = np.median(textures, axis=0)
    matt = matt_zone(mean_shape, table)
    textures = np.stack([even_light(texture, skin, matt, table) for texture in textures])
    textures *= level / textures.mean(axis=1, keepdims=True)
    texture_components = principal_components(
        textures.reshape(len(textures), -1).astype(np.float64), settings.share, settings.most_texture
    )
    depth, iris = _depth_and_iris(everything, mean_shape)
    rest, smiling = pairs_of(shapes[::2], smiles)
    smile = learn_smile(rest, smiling, mean_shape, shape_components, size[0])
    small = [_small_texture(s, mean_shape, triangles, size, settings.fit_width) for s in everything]
    fit_mean, fit_basis, fit_variances = _fit_model(small, settings)
    mean_texture = texture_components.mean.reshape(-1, 3).astype(np.float32)
    studio = studio_field(extended(mean_texture, table), zones_inside(mean_shape, table).skin)
    return AppearanceModel(
        frame_size=size,
        mean_shape=mean_shape,
        depth=depth,
        triangles=triangles,
        shape_basis=shape_components.basis,
        shape_variances=shape_components.variances,
        mean_texture=mean_texture,
        texture_basis=texture_components.basis.astype(np.float16),
        texture_variances=texture_components.variances,
        iris=iris,
        fit_mean=fit_mean,
        fit_basis=fit_basis,
        fit_variances=fit_variances,
        fit_width=settings.fit_width,
        mean_mesh=_mean_mesh(everything, mean_shape, size[0]),
        smile=smile.direction,
        smile_weights=smile.weights,
        smile_folds=learn_folds(small, smiles) * _skin_alone(mean_shape, triangles, size, settings.fit_width),
        studio=studio.astype(np.float16),
    )


def pairs_of(shapes: Points, smiles: Sequence[tuple[int, int]]) -> tuple[Points, Points]:
    """Shapes at rest and smiling, (p, 81, 2) both, out of the shapes of all samples (n, 81, 2)."""
    rest, smiling = np.array(smiles, np.intp).reshape(-1, 2).T
    return shapes[rest], shapes[smiling]


def identity_of_sample(given: Sample, model: AppearanceModel) -> Points:
    """Identity vector, float64 (d,), of a sample."""
    return model.identity(given.points, texture_of_sample(given, model.mean_shape, model.table))


def texture_of_sample(given: Sample, mean_shape: Points, table: WarpTable) -> Pixels:
    """Texture (n, 3) of a photograph, area-reduced first so that fine detail does not alias."""
    shrink = min(1.0, 1.25 * align(given.points, mean_shape).scale)
    image = cv2.resize(given.image, None, fx=shrink, fy=shrink, interpolation=cv2.INTER_AREA)
    ratio = np.array([image.shape[1] / given.image.shape[1], image.shape[0] / given.image.shape[0]])
    return sample(image, (given.points + 0.5) * ratio - 0.5, table)


def _without_mouth(triangles: NDArray[np.int32], shape: Points) -> NDArray[np.int32]:
    lips = shape[INNER_LIP].astype(np.float32).reshape(-1, 1, 2)
    centres = shape[triangles].mean(axis=1)
    outside = [cv2.pointPolygonTest(lips, (float(x), float(y)), False) < 0 for x, y in centres]
    kept: NDArray[np.int32] = triangles[np.array(outside)]
    return kept


def _depth_and_iris(samples: Sequence[Sample], mean_shape: Points) -> tuple[Points, Points]:
    depths, irises = [], []
    for given in samples:
        to_frame = align(given.points, mean_shape)
        depths.append((given.depth - given.depth.mean()) * to_frame.scale)
        row = []
        for eye, (x, y, radius) in zip((LEFT_EYE, RIGHT_EYE), given.iris, strict=True):
            onto = align(given.points[eye], mean_shape[eye])
            row.append([*onto(np.array([x, y])), radius * onto.scale])
        irises.append(row)
    depth: Points = np.median(depths, axis=0)
    return (depth + depth[MIRROR]) / 2, np.median(irises, axis=0)


def _mean_mesh(samples: Sequence[Sample], mean_shape: Points, width: float) -> Points:
    """Mean mesh (468, 3) in the frame, under the similarity that aligns the 81 points to the mean shape; depth is from
    the mean depth of these points, as `AppearanceModel.depth` is."""
    total = np.zeros_like(samples[0].mesh)
    for given in samples:
        to_frame = align(given.points, mean_shape)
        deep = (given.mesh[:, 2] - given.depth.mean()) * to_frame.scale
        total += np.column_stack([to_frame(given.mesh[:, :2]), deep])
    mean = total / len(samples)
    both: Points = (mean + mean[MESH_MIRROR] * (-1, 1, 1) + (width - 1, 0, 0)) / 2
    return both


def _small_texture(
    given: Sample, mean_shape: Points, triangles: NDArray[np.int32], size: tuple[int, int], width: int
) -> Pixels:
    """Texture (f, 3) of a photograph in a small frame, `width` pixels wide."""
    table = scaled_table(mean_shape, triangles, size, width)
    return texture_of_sample(given, mean_shape * (width / size[0]), table)


def _skin_alone(shape: Points, triangles: NDArray[np.int32], size: tuple[int, int], width: int) -> Pixels:
    """1 on skin and lips of a small frame, 0 in eyes and where teeth show at the lips' edge: float32 (f, 1)."""
    zone = matt_zone(shape * (width / size[0]), scaled_table(shape, triangles, size, width))
    return zone[:, None]


def learn_folds(textures: Sequence[Pixels], smiles: Sequence[tuple[int, int]]) -> Pixels:
    """Mean log ratio float32 (f, 3) of the smiling to the neutral texture, over all pairs and their mirror images.

    textures (f, 3): those of every sample, each followed by that of its mirror image. Exposure drops out."""
    total = np.zeros(textures[0].shape)
    for rest, smiling in smiles:
        for side in (0, 1):
            ratio = np.log((textures[2 * smiling + side] + _DARK) / (textures[2 * rest + side] + _DARK))
            total += ratio - np.median(ratio, axis=0)
    return (total / max(2 * len(smiles), 1)).astype(np.float32)


def _fit_model(textures: Sequence[Pixels], settings: TrainingSettings) -> tuple[Pixels, Pixels, Points]:
    """Mean, basis and variances of the grey of textures (f, 3) in a small frame.

    Each has zero mean and unit norm, so that gain and bias of light drop out."""
    rows = np.stack([normalised_grey(texture.mean(axis=1)) for texture in textures]).astype(np.float64)
    mean = rows.mean(axis=0)
    mean /= np.linalg.norm(mean)
    across = rows - (rows @ mean)[:, None] * mean
    components = principal_components(across, 1.0, settings.fit_components)
    return mean.astype(np.float32), components.basis.astype(np.float32), components.variances


def normalised_grey(grey: Pixels) -> Pixels:
    """Grey texture (f,) shifted to zero mean and scaled to unit norm."""
    centred = grey - grey.mean()
    unit: Pixels = (centred / max(float(np.linalg.norm(centred)), 1e-6)).astype(np.float32)
    return unit

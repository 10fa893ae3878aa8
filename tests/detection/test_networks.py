"""mediapipe's networks by LiteRT: the same numbers as the graphs', and the graphs where LiteRT is not to be had."""

from __future__ import annotations

import importlib.util
import logging
import subprocess
import sys
from pathlib import Path

import cv2
import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from streamdeid.aam.appearance_model import AppearanceModel
from streamdeid.core import shipped_models
from streamdeid.core.arrays import Pixels
from streamdeid.core.colour import planes_from_rgb
from streamdeid.core.frames import Colour, Planes
from streamdeid.core.ibug68_from_mesh import along
from streamdeid.core.shipped_models import DETECTION, LANDMARKS, network
from streamdeid.detection import landmarks, networks
from streamdeid.detection.detection_network import DetectionNetwork, decoded, together
from streamdeid.detection.landmark_network import LandmarkNetwork, crop_map, cut
from streamdeid.detection.landmarks import Landmarks
from streamdeid.detection.litert import Network, Unusable
from streamdeid.detection.mediapipe_graphs import DetectionGraph, LandmarkGraph
from streamdeid.detection.model_parts import Model
from streamdeid.detection.networks import CHOICE, Networks
from streamdeid.detection.region import LandmarkRegion
from streamdeid.detection.sampling import letterboxed
from streamdeid.errors import ModelError, SettingsError
from tests import network_twins
from tests.detection import graph_reference
from tests.detection.graph_reference import detected, meshes, portrait

INTERPRETER = "ai_edge_litert.interpreter"
here = pytest.mark.skipif(
    not networks.by_litert_at_all(), reason="ai-edge-litert has no wheel for this machine: the graphs are used"
)


with_graphs = pytest.mark.skipif(
    importlib.util.find_spec("mediapipe") is None, reason="mediapipe 0.10.18 is not installed, as is usual"
)
SPOKEN = [pytest.param("stored"), pytest.param("now", marks=with_graphs)]
"""What the graphs said when the reference was written, and what they say here."""


@here
@pytest.mark.parametrize("when", SPOKEN)
@pytest.mark.parametrize(
    ("size", "apart"),
    # In the last one steps are no whole 32nds: OpenCV's matrix, in the graph, rounds some of them to the other side.
    list(zip(graph_reference.SIZES, (2e-3, 2e-3, 2e-3, 2e-3, 2e-3, 0.2), strict=True)),
)
def test_the_detector_says_what_its_graph_says(
    model: AppearanceModel, size: tuple[int, int], apart: float, when: str
) -> None:
    detect = DetectionNetwork()
    ours = detected(model, lambda picture: detect(picture, 0.1), size)
    if when == "stored":
        with np.load(graph_reference.FILE) as stored:
            theirs = [stored[f"{size} {i}"] for i in range(len(ours))]
    else:
        graph = DetectionGraph(0.1)
        theirs = detected(model, graph, size)
        graph.close()
    for one, other in zip(ours, theirs, strict=True):
        assert one.shape == other.shape
        np.testing.assert_allclose(one, other, atol=apart)
    assert sum(map(len, ours)) >= 2  # or nothing was compared


@here
@pytest.mark.parametrize("when", SPOKEN)
def test_the_mesh_is_the_graphs_wherever_the_region_lies(model: AppearanceModel, when: str) -> None:
    if when == "stored":
        with np.load(graph_reference.FILE) as stored:
            theirs = list(zip(stored["meshes"], stored["presence"], strict=True))
    else:
        graph = LandmarkGraph()
        theirs = [(mesh, presence) for _, mesh, presence in meshes(model, graph)]
        graph.close()
    ours = list(meshes(model, LandmarkNetwork()))
    for (region, mesh, presence), (other, other_presence) in zip(ours, theirs, strict=True):
        assert np.abs(mesh - other).max() < 1e-3 * region.side
        assert abs(presence - other_presence) < 2e-3


@here
def test_below_the_presence_that_is_wanted_there_is_no_mesh(model: AppearanceModel) -> None:
    blank = np.full((120, 120, 3), 128, np.uint8)
    region = LandmarkRegion((60.0, 60.0), 100.0, 0.0)
    mesh, presence = LandmarkNetwork(0.5)(blank, region)
    assert mesh is None
    assert presence < 0.5
    assert LandmarkNetwork(0.0)(blank, region)[0] is not None


@here
def test_the_same_picture_gives_the_same_bits_whatever_came_before(model: AppearanceModel) -> None:
    picture, other = (portrait(model, seed, 90, (256, 256)) for seed in (1, 2))
    region = LandmarkRegion((128.0, 128.0), 160.0, 0.1)
    detect, find = DetectionNetwork(), LandmarkNetwork()
    detect(other, 0.3), find(other, region)
    for one, again in zip(detect(picture, 0.3), DetectionNetwork()(picture, 0.3), strict=True):
        assert (one == again).all()
    one, again = find(picture, region)[0], LandmarkNetwork()(picture, region)[0]
    assert one is not None
    assert again is not None
    assert (one == again).all()


@here
def test_a_result_is_not_overwritten_by_the_next_one(model: AppearanceModel) -> None:
    find = LandmarkNetwork()
    region = LandmarkRegion((128.0, 128.0), 160.0, 0.0)
    mesh = find(portrait(model, 1, 90, (256, 256)), region)[0]
    assert mesh is not None
    kept = mesh.copy()
    find(portrait(model, 2, 90, (256, 256)), region)
    assert (mesh == kept).all()


@pytest.mark.parametrize(("size", "width"), [((640, 600), 260), ((641, 603), 330), ((1001, 999), 600)])
def test_a_large_face_is_found_where_it_lies_though_its_picture_is_halved(
    model: AppearanceModel, size: tuple[int, int], width: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    planes = planes_from_rgb(portrait(model, 1, width, size))
    find = Landmarks(Networks(), quick=True)
    region = LandmarkRegion((size[0] / 2 + 7, size[1] / 2 - 9), 1.5 * width, 0.05)
    halved = find(planes, region)
    monkeypatch.setattr(landmarks, "_LARGEST", 1e9)
    whole = find(planes, region)
    find.close()
    assert halved is not None
    assert whole is not None
    assert np.linalg.norm((halved[0] - whole[0])[:, :2], axis=1).mean() < 0.005 * width
    assert abs(halved[1] - whole[1]) < 0.01


@pytest.mark.parametrize("side", [100.0, 330.0, 700.0, 1290.0])
@pytest.mark.parametrize("size", [(1400, 1400), (1401, 1399)])
@pytest.mark.parametrize("axis", [0, 1])
def test_halving_shifts_nothing_against_256_pixels(side: float, size: tuple[int, int], axis: int) -> None:
    region = LandmarkRegion((711.3, 688.8), side, 0.2)
    period, height = 160.0, 100.0  # a wave that is at its middle, and steepest, in the middle of the region
    wave = 128 + height * np.sin(2 * np.pi / period * (np.arange(size[axis]) - region.centre[axis]))
    luma = np.tile(wave, (size[1], 1)) if axis == 0 else np.tile(wave[:, None], (1, size[0]))
    chroma = np.full(((size[1] + 1) // 2, (size[0] + 1) // 2), 128, np.uint8)
    planes = Planes(luma.round().astype(np.uint8), chroma, chroma, Colour(full_range=True))
    seen: list[float] = []

    def find(rgb: Pixels, inside: LandmarkRegion) -> tuple[Pixels, float]:
        x, y = inside.centre
        seen.append(float(cv2.getRectSubPix(rgb[:, :, 0].astype(np.float32), (1, 1), (x, y))[0, 0]))
        return np.tile([x, y, 0.0], (478, 1)), 1.0

    model = Landmarks(Networks(), quick=True)
    model._find = find  # type: ignore[assignment]
    mesh, _ = model._mesh(planes, region)
    assert mesh is not None
    np.testing.assert_allclose(mesh[0, :2], region.centre, atol=1e-6)
    aside = 0.5 / min(1.0, 256 / side) - 0.5  # what the models were trained with
    assert abs((seen[0] - 128) / (height * 2 * np.pi / period) - aside) < 0.25  # pixels; 8 bits are 0.13


@here
def test_nothing_is_compiled_in_a_first_frame() -> None:
    code = """
import numpy as np
from fractions import Fraction
from streamdeid.core.colour import planes_from_rgb
from streamdeid.detection.mediapipe_faces import MediapipeFaces
from streamdeid.detection.region import LandmarkRegion
from streamdeid.core.frames import Frame
from streamdeid.core.kernel_cache import caches
ready = lambda: sum(len(each.entries) for each in caches())
planes = planes_from_rgb(np.full((100, 120, 3), 128, np.uint8))
faces = MediapipeFaces()
before = ready()
faces(Frame(planes, Fraction(0), 0))
faces._landmarks._find._least = 0.0
faces._landmarks(planes, LandmarkRegion((60.0, 50.0), 80.0, 0.0))
faces._detect._threshold = 0.0
faces(Frame(planes, Fraction(0), 0))
print(before, ready())
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    before, after = done.stdout.split()
    assert int(before) == int(after) > 0


def test_a_part_that_needs_more_than_its_inputs_is_refused() -> None:
    model = Model(network(LANDMARKS))
    with pytest.raises(ValueError, match="own input 0"):
        model.part([199], [687])  # an eye out of the crop of the lips
    with pytest.raises(ValueError, match="no field"):
        model.options(0)  # a plain convolution has no options of its own


def test_a_part_is_made_of_the_same_bytes_each_time_and_leaves_the_model_alone() -> None:
    content = network(LANDMARKS)
    model = Model(content)
    part = model.part([0], [710])
    assert model.part([0], [710]) == part != content
    assert Model(content).part([0], [710]) == part
    assert content == network(LANDMARKS)


@here
def test_litert_does_not_take_bytes_that_are_no_model() -> None:
    with pytest.raises(Unusable):
        Network(b"no model at all")


@here
@pytest.mark.parametrize("name", [DETECTION, LANDMARKS])
@pytest.mark.parametrize("damage", ["cut short", "one bit", "missing"])
def test_a_damaged_model_is_not_run(damage: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    content = bytearray(network(name))
    if damage == "one bit":
        content[len(content) // 2] ^= 1
    if damage != "missing":
        (tmp_path / name).write_bytes(content[:-1] if damage == "cut short" else content)
    monkeypatch.setattr(shipped_models, "shipped", lambda: tmp_path)
    with pytest.raises(ModelError, match="cannot be read" if damage == "missing" else "has been changed"):
        Networks().detector(0.3) if name == DETECTION else Networks().mesh(0.5)


@with_graphs
def test_without_litert_the_graphs_run_and_one_line_says_so(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, model: AppearanceModel
) -> None:
    monkeypatch.delenv(CHOICE, raising=False)
    monkeypatch.setitem(sys.modules, INTERPRETER, None)
    networks._say.cache_clear()
    with caplog.at_level(logging.WARNING, "streamdeid"):
        both = Networks(), Networks()
        detectors = [each.detector(0.3) for each in both]
        mesh = both[0].mesh(0.5)
    assert [type(one) for one in detectors] == [DetectionGraph] * 2
    assert isinstance(mesh, LandmarkGraph)
    assert len(detectors[0](portrait(model, 1, 90, (256, 256)))[2]) == 1
    for one in (*detectors, mesh):
        one.close()
    assert [record.getMessage() for record in caplog.records] == [
        "ai-edge-litert is not installed, or does not load; mediapipe's graphs run instead,"
        " at about one and a half times the cost"
    ]


@with_graphs
def test_graphs_can_be_forced(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    monkeypatch.setenv(CHOICE, "graphs")
    networks._say.cache_clear()
    mesh = Networks().mesh(0.5)
    assert isinstance(mesh, LandmarkGraph)
    mesh.close()
    assert not caplog.records


@pytest.mark.parametrize("asked", ["", "graphs"])
def test_one_line_says_that_neither_way_is_there(asked: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(CHOICE, asked)
    monkeypatch.setitem(sys.modules, INTERPRETER, None)
    monkeypatch.setitem(sys.modules, "mediapipe.python.solution_base", None)
    why = "STREAMDEID_NETWORKS is 'graphs'" if asked else "ai-edge-litert is not installed, or does not load"
    line = f"{why}, and mediapipe 0.10.18 is not installed, or does not load"
    with pytest.raises(SettingsError, match=f"^{line}$"):
        Networks().detector(0.3)
    with pytest.raises(SettingsError, match=f"^{line}$"):
        Networks().mesh(0.5)


def test_litert_can_be_forced_and_its_absence_is_then_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(CHOICE, "litert")
    monkeypatch.setitem(sys.modules, INTERPRETER, None)
    with pytest.raises(SettingsError, match="not installed"):
        Networks().detector(0.3)
    with pytest.raises(SettingsError, match="not installed"):
        Networks().mesh(0.5)


def test_another_choice_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(CHOICE, "both")
    with pytest.raises(SettingsError, match="'both'"):
        Networks()


@here
def test_the_users_of_one_network_have_their_own_thresholds(model: AppearanceModel) -> None:
    shared = Networks()
    strict, lenient = shared.detector(0.9999), shared.detector(0.05)
    picture = portrait(model, 1, 90, (256, 256))
    assert len(lenient(picture)[2]) > len(strict(picture)[2]) == 0


@hypothesis_settings(max_examples=15, deadline=None)
@given(st.integers(1, 40), st.integers(1, 40), st.integers(8, 24), st.integers(0, 99))
def test_letterboxed_is_its_twin(width: int, height: int, side: int, seed: int) -> None:
    picture = np.random.default_rng(seed).integers(0, 256, (height, width, 3), dtype=np.uint8)
    out = np.full((side, side, 3), 7, np.float32)
    step, x, y = letterboxed(picture, out)
    assert (step, x, y) == (max(width, height) / side, min(width - height, 0) / 2, min(height - width, 0) / 2)
    np.testing.assert_allclose(out, network_twins.letterboxed(picture, side), atol=1e-5)


@hypothesis_settings(max_examples=15, deadline=None)
@given(st.integers(0, 999), st.sampled_from([0.05, 0.3, 0.9]))
def test_decoded_and_together_are_their_twins(seed: int, threshold: float) -> None:
    random = np.random.default_rng(seed)
    boxes = random.normal(0, 6, (2304, 16)).astype(np.float32)
    boxes[:, 2:4] = random.uniform(-2, 40, (2304, 2))
    boxes[::50, 2] = 0  # no area
    logits = np.where(random.random(2304) < 0.02, random.normal(0, 3, 2304), -200).astype(np.float32)
    found = decoded(boxes, logits, threshold)
    twin = network_twins.decoded(boxes, logits, threshold)
    np.testing.assert_allclose(found, np.reshape(twin, (-1, 17)), rtol=1e-5, atol=1e-4)
    np.testing.assert_allclose(together(found), network_twins.together(found.tolist()), rtol=1e-9)


def test_nothing_decoded_is_no_face() -> None:
    nothing = decoded(np.zeros((2304, 16), np.float32), np.full(2304, -9, np.float32), 0.3)
    assert together(nothing).shape == (0, 17)


@hypothesis_settings(max_examples=10, deadline=None)
@given(st.integers(0, 999))
def test_cut_is_its_twin(seed: int) -> None:
    random = np.random.default_rng(seed)
    layer = random.normal(size=(9, 7, 2)).astype(np.float32)
    place = np.concatenate([random.normal(0, 1.0, (2, 2)), random.uniform(0, 8, (2, 1))], axis=1)
    out = np.full((5, 5, 2), 9, np.float32)
    cut(layer, place, out)
    np.testing.assert_allclose(out, network_twins.cut(layer, place, 5), atol=1e-5)


def test_a_crop_is_level_with_its_points_and_as_large_as_its_reach() -> None:
    points = np.array([[40.0, 80.0], [80.0, 120.0], [50.0, 110.0], [70.0, 90.0]])  # a square standing on its tip, cut
    place = crop_map(points, np.arange(4), 0, 1, 1.5)
    middle = place @ (8.0, 8.0, 1.0)
    np.testing.assert_allclose(4 * middle, [60.0, 100.0], atol=1e-9)
    along = 4 * (place @ (16.0, 8.0, 1.0) - place @ (0.0, 8.0, 1.0))
    np.testing.assert_allclose(along, np.full(2, 1.5 * 40.0), atol=1e-9)  # 1.5 times the diagonal, in its direction


@hypothesis_settings(max_examples=15, deadline=None)
@given(st.integers(0, 999))
def test_crop_map_is_its_twin(seed: int) -> None:
    random = np.random.default_rng(seed)
    mesh, points = random.normal(90, 40, (478, 3)), random.integers(0, 478, 20)
    twin = network_twins.crop_map(mesh[points, :2], mesh[9, :2] - mesh[5, :2], 1.4)
    np.testing.assert_allclose(crop_map(mesh, points, 5, 9, 1.4), twin, atol=1e-9)


@hypothesis_settings(max_examples=15, deadline=None)
@given(st.integers(0, 999), st.integers(2, 12), st.integers(2, 3))
def test_along_is_its_twin(seed: int, count: int, dimensions: int) -> None:
    random = np.random.default_rng(seed)
    line = random.normal(0, 9, (count, dimensions))
    line[count // 2 :] = line[count // 2 - 1] if seed % 5 == 0 else line[count // 2 :]  # the rest in one point
    t = np.sort(random.random(7))
    np.testing.assert_allclose(along(line, t), network_twins.along(line, t), atol=1e-9)
    np.testing.assert_allclose(along(line, np.array([1.0]))[0], line[-1], atol=1e-9)


def test_a_crop_of_what_is_not_finite_is_empty() -> None:
    out = np.ones((4, 4, 2), np.float32)
    cut(np.ones((6, 6, 2), np.float32), np.full((2, 3), np.nan), out)
    assert (out == 0).all()

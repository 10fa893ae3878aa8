"""`Filter`: pictures in, pictures out; the self-test behind it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import streamdeid
from streamdeid import Face, FailedClosed, Filter, Frame, Settings
from streamdeid.aam.fit import FitModel
from streamdeid.core.arrays import Picture
from streamdeid.core.colour import rectangle_to_rgb
from streamdeid.core.faces import Track
from streamdeid.core.frames import DeidentifiedFrame
from streamdeid.errors import SettingsError
from streamdeid.protect.mask_faces import MaskFaces
from streamdeid.protect.pending import PendingFrame, Waiting
from streamdeid.protect.plan import Plans
from streamdeid.protect.self_test import known_face, self_test
from streamdeid.settings import ALL_METHODS
from streamdeid.surrogates.gallery import Gallery
from streamdeid.synthetic.people import SyntheticFrame, synthetic_people
from streamdeid.tracking.tracker import FaceTracker
from tests.synthetic_video import encode

PLACE = (100.0, 80.0, 180.0, 180.0)


@pytest.fixture(scope="module")
def drawn(fitting: FitModel, gallery: Gallery) -> list[SyntheticFrame]:
    """Six frames of two synthetic people."""
    return list(synthetic_people(fitting, gallery, people=2, seconds=0.24, size=(480, 270)))


def bgr(frame: Frame) -> Picture:
    """The picture as OpenCV has it."""
    width, height = frame.planes.size
    return np.ascontiguousarray(rectangle_to_rgb(frame.planes, 0, 0, width, height)[:, :, ::-1])


@pytest.fixture(scope="module")
def safe(drawn: list[SyntheticFrame]) -> Iterator[list[Picture]]:
    """The same pictures, filtered."""
    with Filter() as filter:
        yield [filter(bgr(one.frame)) for one in drawn]


def test_every_face_is_replaced(drawn: list[SyntheticFrame], safe: list[Picture]) -> None:
    for one, picture in zip(drawn, safe, strict=True):
        given = bgr(one.frame)
        assert picture.shape == given.shape
        for truth in one.truths:
            x0, y0, x1, y1 = (int(v) for v in truth.box)
            difference = np.abs(picture[y0:y1, x0:x1].astype(int) - given[y0:y1, x0:x1])
            assert difference.mean() > 3.0


def test_what_is_no_face_comes_back_bit_for_bit(drawn: list[SyntheticFrame], safe: list[Picture]) -> None:
    for one, picture in zip(drawn, safe, strict=True):
        given = bgr(one.frame)
        untouched = np.ones(given.shape[:2], bool)
        for truth in one.truths:
            x0, y0, x1, y1 = (int(v) for v in truth.box)
            untouched[max(0, y0 - 45) : y1 + 45, max(0, x0 - 45) : x1 + 45] = False
        assert untouched.mean() > 0.3
        assert np.array_equal(picture[untouched], given[untouched])


def test_the_given_picture_is_not_written_to(drawn: list[SyntheticFrame]) -> None:
    given = bgr(drawn[0].frame)
    kept = given.copy()
    with Filter(Settings(method="blackout"), detect=known_place, self_test=False) as filter:
        filter(given)
    assert np.array_equal(given, kept)


def known_place(frame: Frame) -> Sequence[Face]:
    """A detector that says the same of every picture."""
    return [Face(PLACE, 1.0)]


def test_any_function_plugs_in_as_a_detector_and_its_place_is_covered(drawn: list[SyntheticFrame]) -> None:
    given = bgr(drawn[0].frame)
    x0, y0, x1, y1 = (int(v) for v in PLACE)
    with Filter(Settings(strict=True), detect=known_place, self_test=False) as filter:
        out = filter(given)
    assert np.ptp(out[y0:y1, x0:x1].reshape(-1, 3), axis=0).max() == 0  # solid: it knows no landmarks
    with Filter(detect=known_place, self_test=False) as filter:
        soft = filter(given)[y0:y1, x0:x1].astype(float)
    assert np.abs(np.diff(soft, axis=1)).max() < 16 < np.abs(np.diff(given[y0:y1, x0:x1].astype(float), axis=1)).max()


def test_a_detector_that_misses_a_known_face_is_not_trusted(drawn: list[SyntheticFrame]) -> None:
    with Filter(detect=lambda _: []) as filter, pytest.raises(FailedClosed, match="self-test"):
        filter(bgr(drawn[0].frame))


def test_a_face_without_a_place_withholds_the_picture(drawn: list[SyntheticFrame]) -> None:
    lost = [Face((float("nan"), 0.0, 1.0, 1.0), 1.0)]
    with Filter(detect=lambda _: lost, self_test=False) as filter, pytest.raises(FailedClosed, match="place"):
        filter(bgr(drawn[0].frame))


def test_odd_sizes_are_filtered_too(drawn: list[SyntheticFrame]) -> None:
    given = bgr(drawn[0].frame)[:269, :479]
    with Filter(Settings(method="blackout"), detect=known_place, self_test=False) as filter:
        out = filter(given)
    x0, y0, x1, y1 = (int(v) for v in PLACE)
    assert out.shape == given.shape
    assert out[y0:y1, x0:x1].max() < 3


@pytest.mark.parametrize(
    "wrong", [np.zeros((8, 8), np.uint8), np.zeros((8, 8, 3), np.float32), np.zeros((8, 8, 4), np.uint8)]
)
def test_what_is_no_picture_is_refused(wrong: Picture) -> None:
    with Filter(detect=known_place, self_test=False) as filter, pytest.raises(ValueError, match="a picture is"):
        filter(wrong)


def test_a_stream_has_one_size_and_an_end(drawn: list[SyntheticFrame]) -> None:
    given = bgr(drawn[0].frame)
    with Filter(detect=known_place, self_test=False) as filter:
        filter(given, time=0.0)
        with pytest.raises(ValueError, match="one size"):
            filter(given[:100])
    with pytest.raises(ValueError, match="one size"):
        filter(given)


def test_k_is_checked_at_once() -> None:
    with pytest.raises(SettingsError, match="k must"):
        Filter(Settings(k=52))


@pytest.mark.parametrize("method", ALL_METHODS)
def test_every_method_passes_the_self_test(method: str, drawn: list[SyntheticFrame]) -> None:
    with Filter(Settings(method=method)) as filter:
        filter(bgr(drawn[0].frame))


def test_the_self_test_sees_through_a_filter_that_does_nothing(fitting: FitModel) -> None:
    class Nothing:
        def observe(self, pending: PendingFrame[Any], waiting: Waiting) -> None:
            """Nothing to learn."""

        def settle(self, waiting: Waiting, due: Sequence[Track] | None = None) -> None:
            """Nobody to commit."""

        def decide(self, pending: PendingFrame[Any], tracks: Sequence[Track]) -> Plans:
            return ()

        def render(self, pending: PendingFrame[Any], plans: Plans) -> DeidentifiedFrame:
            return DeidentifiedFrame(pending.frame.planes, pending.frame.time, pending.frame.index)

    _, box = known_face(fitting)
    with pytest.raises(FailedClosed, match=r"changed by 0\.0"):
        self_test(fitting, lambda _: [Face(box, 1.0)], FaceTracker().update, Nothing())
    beside = replace(Face(box, 1.0), box=(0.0, 0.0, 40.0, 40.0))
    with pytest.raises(FailedClosed, match="where there is none"):
        self_test(fitting, lambda _: [beside], FaceTracker().update, MaskFaces("blackout"))


def test_importing_the_package_loads_next_to_nothing() -> None:
    code = "import sys, streamdeid; print(sorted({'numpy', 'cv2', 'av', 'numba', 'mediapipe'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_examples_in_the_package_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    encode(tmp_path / "in.mp4", frames=3)
    text = streamdeid.__doc__ or ""
    blocks = [line[4:] for line in text.splitlines() if line.startswith("    ") or not line.strip()]
    names: dict[str, object] = {}
    exec(compile("\n".join(blocks), "example", "exec"), names)
    assert isinstance(names["safe"], np.ndarray)
    assert isinstance(names["report"], streamdeid.FileReport) and names["report"].frames == 3
    assert (tmp_path / "out.mp4").is_file()


def test_everything_that_is_exported_is_there_and_nothing_else() -> None:
    assert sorted(streamdeid.__all__) == [
        "Colour", "Face", "FailedClosed", "FileReport", "Filter", "Frame", "InputError", "ModelError", "OutputError",
        "Planes", "PluggedIn", "Recogniser", "Region", "Settings", "SettingsError", "StreamdeidError", "WarmUp",
        "filter_file", "no_core_files", "profile_settings", "warm_up",
    ]  # fmt: skip
    assert all(getattr(streamdeid, name).__module__.startswith("streamdeid.") for name in streamdeid.__all__)
    assert Path(streamdeid.__file__).with_name("py.typed").is_file()


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="nonsense"):
        _ = streamdeid.nonsense

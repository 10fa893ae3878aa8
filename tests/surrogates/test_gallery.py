"""The gallery file: round trip, determinism, and refusal of everything else."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from streamdeid.core.arrays_file import read_arrays, write_arrays
from streamdeid.errors import ModelError
from streamdeid.surrogates.gallery import load_gallery, save_gallery
from tests import simulated_faces


def test_round_trip(tmp_path: Path) -> None:
    given = simulated_faces.gallery()
    sha256 = save_gallery(tmp_path / "gallery.npz", given)
    loaded = load_gallery(tmp_path / "gallery.npz")
    assert loaded.sha256 == sha256
    assert loaded.model_sha256 == given.model_sha256
    for name in ("identities", "gender", "age", "ethnicity"):
        assert np.array_equal(getattr(loaded, name), getattr(given, name))
        assert getattr(loaded, name).dtype == getattr(given, name).dtype


def test_the_rule_for_gender_is_kept_with_the_donors(tmp_path: Path) -> None:
    given = simulated_faces.gallery(learnt=True)
    save_gallery(tmp_path / "gallery.npz", given)
    loaded = load_gallery(tmp_path / "gallery.npz").gender_rule
    assert loaded is not None and given.gender_rule is not None
    for name in ("names", "weights", "offsets", "seen"):
        np.testing.assert_array_equal(getattr(loaded, name), getattr(given.gender_rule, name))


@pytest.mark.parametrize(
    "change",
    [
        {"gender_names": np.array(["female"])},
        {"gender_names": np.array(["boys", "girls"])},
        {"gender_names": np.zeros(2)},
        {"gender_names": np.array([["female", "male"]])},
        {"gender_weights": np.zeros((2, 57))},
        {"gender_weights": np.zeros((2, 58), np.float32)},
        {"gender_offsets": np.zeros(3)},
        {"gender_seen": np.zeros((102, 2))},
        {"gender_seen": None},
    ],
)
def test_a_rule_that_does_not_fit_the_donors_is_refused(tmp_path: Path, change: dict[str, NDArray[Any] | None]) -> None:
    path = tmp_path / "gallery.npz"
    save_gallery(path, simulated_faces.gallery(learnt=True))
    arrays, _ = read_arrays(path)
    changed = {name: array for name, array in {**arrays, **change}.items() if array is not None}
    write_arrays(path, changed)
    with pytest.raises(ModelError, match="gallery"):
        load_gallery(path)


def test_saving_twice_gives_the_same_bytes(tmp_path: Path) -> None:
    save_gallery(tmp_path / "a.npz", simulated_faces.gallery())
    save_gallery(tmp_path / "b.npz", simulated_faces.gallery())
    assert (tmp_path / "a.npz").read_bytes() == (tmp_path / "b.npz").read_bytes()


@pytest.mark.parametrize(
    "change",
    [
        {"identities": np.ones((102, 58), np.float32)},
        {"identities": np.ones(102)},
        {"identities": np.ones((0, 58))},
        {"identities": np.ones((101, 58))},
        {"age": np.zeros(102)},
        {"age": np.zeros(102, np.int32)},
        {"gender": np.zeros(102)},
        {"ethnicity": np.array(["x"])},
        {"model_sha256": np.array("not a hash")},
        {"model_sha256": np.array(["0" * 64])},
        {"extra": np.ones(1)},
        {"gender": None},
    ],
)
def test_files_of_another_shape_are_refused(tmp_path: Path, change: dict[str, NDArray[Any] | None]) -> None:
    path = tmp_path / "gallery.npz"
    save_gallery(path, simulated_faces.gallery())
    arrays, _ = read_arrays(path)
    changed = {name: array for name, array in {**arrays, **change}.items() if array is not None}
    write_arrays(path, changed)
    with pytest.raises(ModelError, match="gallery") as caught:
        load_gallery(path)
    assert "\n" not in str(caught.value)


def test_an_altered_vector_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "gallery.npz"
    given = simulated_faces.gallery()
    save_gallery(path, given)
    value = given.identities[7, 7].tobytes()
    data = path.read_bytes()
    assert data.count(value) == 1
    path.write_bytes(data.replace(value, (given.identities[7, 7] + 1.0).tobytes()))
    with pytest.raises(ModelError):
        load_gallery(path)


def test_a_malformed_gallery_is_not_saved(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="age"):
        save_gallery(tmp_path / "g.npz", replace(simulated_faces.gallery(), age=np.zeros(3, np.int64)))
    assert not list(tmp_path.iterdir())


def test_a_gallery_of_another_model_is_refused() -> None:
    gallery = simulated_faces.gallery()
    gallery.require_model("0" * 64)
    with pytest.raises(ModelError, match="belongs to model"):
        gallery.require_model("1" * 64)

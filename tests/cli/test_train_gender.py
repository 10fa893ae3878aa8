"""`train --rule-for`: the rule for gender is learnt anew, and everything else of the models stays as it is."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

import cv2
import numpy as np
import pytest
from numpy.typing import NDArray

from streamdeid.aam.appearance_model import AppearanceModel, save_model
from streamdeid.aam.train import annotate
from streamdeid.cli import train, train_gender
from streamdeid.core.faces import Face
from streamdeid.errors import InputError, SettingsError
from streamdeid.surrogates.gallery import save_gallery
from streamdeid.surrogates.models import GALLERY, MODEL, load_models, write_hashes
from tests.drawn_faces import pose_at, scene, some_identity

_PEOPLE = 10


class _Drawn:
    """Drawn photographs in a directory, with labels, and a detector that knows them."""

    def __init__(self, directory: Path, model: AppearanceModel) -> None:
        self.directory = directory
        self._faces: dict[bytes, Face] = {}
        (directory / "neutral").mkdir(parents=True)
        for number in range(_PEOPLE):
            view = scene(model, *model.decode(some_identity(model, number, 0.5)), pose_at(model, 150.0), (220, 220))
            cv2.imwrite(str(directory / "neutral" / f"{number:03}.png"), view.rgb[:, :, ::-1])
            self._faces[view.rgb.tobytes()] = view.face
        rows = [f"{number:03},{20 + number},{('female', 'male')[number % 2]}," for number in range(_PEOPLE)]
        (directory / "info.csv").write_text("\n".join(["face_id,face_age,face_gender,face_eth", *rows]), "utf-8")

    def detect(self, image: NDArray[np.uint8]) -> list[Face]:
        return [self._faces[image.tobytes()]]

    def models(self, out: Path, model: AppearanceModel) -> Path:
        """Models whose donors are these people, without a rule, and a card."""
        out.mkdir()
        known, neutral = train.labels(self.directory), train.photographs(self.directory)[0]
        gallery = train.gallery_of(
            [annotate(path, self.detect) for path in neutral], [known[path.stem] for path in neutral], model
        )
        hashes = {MODEL: save_model(out / MODEL, model), GALLERY: save_gallery(out / GALLERY, gallery)}
        write_hashes(out, hashes)
        rows = [("source", "drawn | with a bar"), (train.TRAINED_ROW, "hand"), (train.GENDER_ROW, "none")]
        rows += [(train.GALLERY_ROW, "`0`")]
        (out / train.CARD).write_text(train.card(rows), "utf-8")
        return out


@pytest.fixture
def drawn(tmp_path: Path, model: AppearanceModel, monkeypatch: pytest.MonkeyPatch) -> _Drawn:
    monkeypatch.setattr(train_gender, "VARIATIONS", 2)
    monkeypatch.setattr(train_gender, "filmed", lambda image, width, rng: image)
    return _Drawn(tmp_path / "photographs", model)


def test_only_the_rule_changes_and_the_card_says_so(drawn: _Drawn, model: AppearanceModel, tmp_path: Path) -> None:
    before, out = drawn.models(tmp_path / "before", model), tmp_path / "after"
    paths = train.rule_anew(drawn.directory, out, drawn.detect, before)
    assert paths == (out / MODEL, out / GALLERY)
    assert (out / MODEL).read_bytes() == (before / MODEL).read_bytes()
    old, new = load_models(before).gallery, load_models(out).gallery
    rule = new.gender_rule
    assert old.gender_rule is None and rule is not None
    for name in ("identities", "gender", "age", "ethnicity"):
        np.testing.assert_array_equal(getattr(old, name), getattr(new, name))
    assert rule.names.tolist() == ["female", "male"] and rule.seen.shape == (_PEOPLE, 3)
    assert rule.weights[:, : len(model.shape_variances)].any()
    told = (out / train.CARD).read_text("utf-8")
    assert f"| {train.GALLERY_ROW} | `{new.sha256}` |" in told and "| source | drawn | with a bar |" in told
    assert train_gender.gender_fact(rule, new.gender.tolist()) in told and "up to 2 variations" in told
    assert "| trained by | hand; the rule for gender later by `streamdeid train" in told
    again = tmp_path / "again"
    train.rule_anew(drawn.directory, again, drawn.detect, out)  # the way is told once
    assert (again / train.CARD).read_text("utf-8") == told


def test_gender_is_learnt_from_filmed_pictures_in_which_a_face_is_found(
    drawn: _Drawn, model: AppearanceModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    neutral = train.photographs(drawn.directory)[0]
    samples = {path: annotate(path, drawn.detect) for path in neutral}
    seen: list[NDArray[np.uint8]] = []

    def detect(image: NDArray[np.uint8]) -> list[Face]:
        seen.append(image)
        return [] if len(seen) % 3 == 0 else drawn.detect(next(s.image for s in samples.values()))

    asked: list[float] = []

    def filmed(image: NDArray[np.uint8], width: float, rng: np.random.Generator) -> NDArray[np.uint8]:
        asked.append(width)
        return 255 - image

    monkeypatch.setattr(train_gender, "filmed", filmed)
    genders = ["female", "male"] * (_PEOPLE // 2)
    rule = train_gender.gender_rule_of(samples, neutral, genders, model, detect)
    assert rule is not None and len(asked) == len(seen) == 2 * _PEOPLE
    for image, given in zip(seen[::2], samples.values(), strict=True):
        np.testing.assert_array_equal(image, 255 - given.image)
    assert asked[::2] == [float(np.ptp(given.points[:, 0])) for given in samples.values()]


def test_photographs_of_others_are_refused(drawn: _Drawn, model: AppearanceModel, tmp_path: Path) -> None:
    before, out = drawn.models(tmp_path / "before", model), tmp_path / "after"
    gallery, neutral = load_models(before).gallery, train.photographs(drawn.directory)[0]
    samples = {path: annotate(path, drawn.detect) for path in neutral}
    others = replace(gallery, identities=gallery.identities[::-1].copy())
    with pytest.raises(InputError, match="is not the photograph of donor 1"):
        train_gender.with_rule_anew(others, model, samples, neutral, drawn.detect)
    with pytest.raises(InputError, match="9 neutral photographs are not those of 10 donors"):
        train_gender.with_rule_anew(gallery, model, samples, neutral[1:], drawn.detect)
    silent = replace(gallery, gender=np.array([""] * _PEOPLE))
    with pytest.raises(InputError, match="do not state two genders"):
        train_gender.with_rule_anew(silent, model, samples, neutral, drawn.detect)
    (before / train.CARD).unlink()
    with pytest.raises(InputError, match="the card of these models"):
        train.rule_anew(drawn.directory, out, drawn.detect, before)
    (before / train.CARD).write_text("# Model card\n", "utf-8")
    with pytest.raises(InputError, match="is not the card of trained models"):
        train.rule_anew(drawn.directory, out, drawn.detect, before)
    assert not out.exists()


def test_a_source_does_not_go_with_it(drawn: _Drawn, tmp_path: Path) -> None:
    parser = argparse.ArgumentParser()
    train.add_arguments(parser)
    given = ["--images", str(drawn.directory), "--out", str(tmp_path / "out"), "--rule-for", "models"]
    with pytest.raises(SettingsError, match="--source"):
        train.run(parser.parse_args([*given, "--source", "text"]))
    with pytest.raises(SystemExit):
        parser.parse_args([*given, "--space-of", "models"])

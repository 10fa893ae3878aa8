"""Settings: everything out of range is refused with one line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from streamdeid.core.shipped_models import shipped
from streamdeid.errors import ModelError, SettingsError
from streamdeid.settings import ALL_METHODS, Settings, attributes_of
from streamdeid.surrogates.models import load_models, read_hashes, write_hashes


@pytest.mark.parametrize("method", ALL_METHODS)
def test_every_method_is_accepted(method: str) -> None:
    assert Settings(method=method).synthesises is (method.startswith("k-"))


def test_gender_is_preserved_unless_nothing_is() -> None:
    assert Settings().preserve == ("gender",)
    assert attributes_of(["gender", " age "]) == ("gender", "age")
    assert attributes_of(["none"]) == attributes_of([""]) == attributes_of([]) == ()
    with pytest.raises(SettingsError, match="none or some"):
        attributes_of(["none", "gender"])


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        ({"method": "magic"}, "magic"),
        ({"k": 1}, "k must"),
        ({"q": 0.05}, "q must"),
        ({"q": float("nan")}, "q must"),
        ({"preserve": ("name",)}, "name"),
        ({"preserve": ("age", "age")}, "twice"),
        ({"transfer": "fax"}, "fax"),
        ({"eyes": "glass"}, "glass"),
        ({"children": True, "transfer": "paper"}, "no children"),
        ({"children": True, "preserve": ("gender", "age")}, "no age group"),
        ({"threshold": 0.0}, "threshold"),
        ({"threshold": 1.01}, "threshold"),
        ({"lookahead": -1.0}, "lookahead"),
        ({"lookahead": 11.0}, "lookahead"),
        ({"coast": float("inf")}, "coast"),
        ({"crf": 64}, "crf"),
        ({"crf": -1}, "crf"),
    ],
)
def test_values_out_of_range_are_refused_in_one_line(wrong: dict[str, Any], named: str) -> None:
    with pytest.raises(SettingsError, match=named) as caught:
        Settings(**wrong)
    assert "\n" not in str(caught.value)


def test_k_is_bounded_by_half_the_gallery() -> None:
    Settings(k=51).check_gallery(102)
    Settings(method="blur", k=99).check_gallery(102)  # a mask has no clusters
    with pytest.raises(SettingsError, match="from 2 to 51"):
        Settings(k=52).check_gallery(102)


def test_the_shipped_models_are_the_ones_that_were_trained() -> None:
    models = load_models()
    hashes = read_hashes(shipped())
    assert hashes == {"aam.npz": models.fitting.model.sha256, "gallery.npz": models.gallery.sha256}


@pytest.mark.parametrize("text", ["", "# nothing\n", "deadbeef  aam.npz\n", "x" * 64 + "  aam.npz\n"])
def test_a_hash_list_that_cannot_be_understood_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "SHA256").write_text(text, encoding="ascii")
    with pytest.raises(ModelError, match="SHA256"):
        read_hashes(tmp_path)


def test_a_hash_list_comes_back_as_it_was_written(tmp_path: Path) -> None:
    hashes = {"aam.npz": "a" * 64, "gallery.npz": "0" * 64}
    write_hashes(tmp_path, hashes)
    assert read_hashes(tmp_path) == hashes

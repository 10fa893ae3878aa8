"""What is sent to other machines: all that a run needs, no secret in words, and nothing to one that differs."""

from __future__ import annotations

import pickle
from dataclasses import replace
from pathlib import Path

import pytest

from streamdeid.errors import SettingsError
from streamdeid.runs.shipped import Shipped, UnfitError, ship, unpack
from streamdeid.settings import Settings
from streamdeid.surrogates.models import load_models
from tests.conftest import MODELS

KEY = bytes(range(60, 92))


@pytest.fixture
def key_file(tmp_path: Path) -> Path:
    """A key."""
    path = tmp_path / "secret.key"
    path.write_bytes(KEY)
    return path


def test_the_key_is_sent_and_shows_nowhere(key_file: Path, tmp_path: Path) -> None:
    sent = ship(Settings(key_file=key_file))
    assert sent.key == KEY and KEY.decode() not in repr(sent) and repr(KEY) not in repr(sent)
    received: Shipped = pickle.loads(pickle.dumps(sent))
    settings = unpack(received, tmp_path / "there")
    assert received.key == KEY and settings == Settings(key_file=key_file)
    assert not (tmp_path / "there").exists(), "shipped models are on every machine, and the key is in no file"


def test_models_of_the_users_own_are_sent(tmp_path: Path) -> None:
    same = tmp_path / "same"
    same.mkdir()
    for path in MODELS.iterdir():
        (same / path.name).write_bytes(path.read_bytes())
    assert not ship(Settings(models=same)).files, "they are those that every machine has"
    sent = ship(Settings(models=same))
    other = replace(
        sent, files={f"models/{name}": (same / name).read_bytes() for name in ("aam.npz", "gallery.npz", "SHA256")}
    )
    settings = unpack(other, tmp_path / "there")
    assert settings.models == tmp_path / "there" / "models"
    assert load_models(settings.models).gallery.sha256 == sent.hashes["gallery.npz"]


def test_other_models_are_sent_with_their_hashes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from streamdeid.runs import shipped

    monkeypatch.setattr(shipped, "_shipped_hashes", lambda: {"aam.npz": "other", "gallery.npz": "other"})
    sent = ship(Settings(models=MODELS))
    assert sorted(sent.files) == ["models/SHA256", "models/aam.npz", "models/gallery.npz"]
    with pytest.raises(UnfitError, match="models"):
        unpack(replace(sent, files={}), tmp_path)


def test_pictures_of_the_whitelist_are_sent(tmp_path: Path) -> None:
    pictures = [tmp_path / "a" / "face.jpg", tmp_path / "b" / "face.jpg"]
    for number, path in enumerate(pictures):
        path.parent.mkdir()
        path.write_bytes(b"picture %d" % number)
    sent = ship(Settings(whitelist=tuple(pictures)))
    assert "picture 0" not in repr(sent)
    settings = unpack(sent, tmp_path / "there")
    assert [path.read_bytes() for path in settings.whitelist] == [b"picture 0", b"picture 1"]
    with pytest.raises(SettingsError, match="cannot be read"):
        ship(Settings(whitelist=(tmp_path / "none.jpg",)))


def test_a_machine_with_other_libraries_is_refused(tmp_path: Path) -> None:
    sent = ship(Settings())
    with pytest.raises(UnfitError, match="numpy"):
        unpack(replace(sent, versions={**sent.versions, "numpy": "0.1"}), tmp_path)

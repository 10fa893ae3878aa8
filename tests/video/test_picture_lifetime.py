"""Decoded pictures go when nobody needs them, without waiting for Python to look for circles."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from pathlib import Path

import av
import pytest

from streamdeid.video.live.camera import DecodedPicture
from streamdeid.video.pictures import orientation_of
from tests.synthetic_video import encode, set_display_matrix


@pytest.fixture
def no_collection() -> Iterator[None]:
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def _alive() -> int:
    # Not `isinstance`, which asks weak references of other tests what they stand for.
    return sum(issubclass(type(one), av.VideoFrame) for one in gc.get_objects())


@pytest.mark.parametrize("turned", [False, True])
def test_a_picture_that_was_looked_at_goes_at_once(tmp_path: Path, turned: bool, no_collection: None) -> None:
    clip = encode(tmp_path / "clip.mp4", frames=20, size=(64, 48))
    if turned:
        set_display_matrix(clip, (0, 1, -1, 0))
    before = _alive()
    with av.open(str(clip)) as container:
        for picture in container.decode(video=0):
            assert orientation_of(picture).rotation in ((90, 270) if turned else (0,))
            DecodedPicture(picture, None, 0.0).planes()
    del picture
    assert _alive() - before <= 2

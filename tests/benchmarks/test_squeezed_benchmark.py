"""`squeezed` measures few frames of the clips that show small faces, so that one command over a folder ends."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.leaks.squeezed import boxes_of, chosen


def _clip(place: Path, name: str, faces: list[tuple[int, float, float]]) -> Path:
    """A clip's table of faces. faces: frame, width and score of each."""
    lines = [f"{frame},10,20,{10 + width},{50 + width},{score}" for frame, width, score in faces]
    (place / f"{name}.faces.csv").write_text("\n".join(["frame,x0,y0,x1,y1,score", *lines, ""]))
    return place / f"{name}.mp4"


def test_clips_with_small_faces_at_their_beginning_are_chosen(tmp_path: Path) -> None:
    small = _clip(tmp_path, "small", [(0, 90.0, 0.9), (3, 39.0, 0.9)])
    large = _clip(tmp_path, "large", [(0, 40.0, 0.9)])
    late = _clip(tmp_path, "late", [(0, 90.0, 0.9), (12, 20.0, 0.9)])
    doubtful = _clip(tmp_path, "doubtful", [(0, 20.0, 0.4)])
    clips = [small, large, late, doubtful]
    assert chosen(clips, 40.0, 12) == [small] and chosen(clips, 40.0, 13) == [small, late]
    assert [box.frame for box in boxes_of(late, 12)] == [0]
    with pytest.raises(ValueError, match="no clip shows a face of under 40 pixels in its first 12 frames"):
        chosen([large, late], 40.0, 12)

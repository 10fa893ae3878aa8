"""Faces of which a part is hidden, for the benchmark of photographed people."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.recall.small_people import HIDDEN, TALL, hide, seen_of

_CELL, _SIZE = 100, 40.0


@pytest.mark.parametrize("side", HIDDEN)
def test_the_share_of_a_face_that_is_hidden(side: str) -> None:
    head = np.zeros((_CELL, _CELL, 3), np.uint8)
    hide(head, side, _SIZE, np.array([10, 20, 30]))
    covered = head[:, :, 0] == 10
    low, high = round(_CELL / 2 - _SIZE / 2), round(_CELL / 2 + _SIZE / 2)
    top, bottom = round(_CELL / 2 - TALL * _SIZE / 2), round(_CELL / 2 + TALL * _SIZE / 2)
    assert covered[top:bottom, low:high].mean() == pytest.approx(HIDDEN[side], abs=0.02)
    assert (head[covered] == (10, 20, 30)).all() and not head[~covered].any()
    x, y = seen_of(side, _SIZE)
    rows, columns = np.nonzero(~covered[top:bottom, low:high])
    assert (columns.mean() + 0.5 - _SIZE / 2, rows.mean() + 0.5 - TALL * _SIZE / 2) == pytest.approx((x, y), abs=0.6)

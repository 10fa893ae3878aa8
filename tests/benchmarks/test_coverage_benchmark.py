"""The benchmark of what the tests run: counts by room, and what is too little."""

from __future__ import annotations

from benchmarks.faults.coverage import Covered, by_room, too_little


def _file(lines: int, run: int, branches: int, taken: int) -> dict[str, dict[str, int]]:
    counts = {"num_statements": lines, "covered_lines": run, "num_branches": branches, "covered_branches": taken}
    return {"summary": counts}


def test_files_are_counted_with_their_room() -> None:
    files = {
        "streamdeid/errors.py": _file(10, 9, 0, 0),
        "streamdeid/video/queue.py": _file(20, 10, 4, 1),
        "streamdeid/video/live/source.py": _file(60, 50, 6, 5),
        "/tmp/elsewhere/streamdeid/video/live/source.py": _file(60, 0, 6, 0),
    }
    rooms = by_room({"files": files})
    assert rooms["streamdeid"].shares == (90.0, 100.0)
    assert rooms["video"] == Covered(80, 60, 10, 6) and rooms["video"].shares == (75.0, 60.0)


def test_a_room_below_its_least_is_told_and_so_is_one_without() -> None:
    rooms = {"video": Covered(100, 79, 100, 70), "core": Covered(100, 99, 0, 0)}
    assert too_little(rooms, {"video": (80, 70), "core": (99, 100)}) == [
        "video: 79.0 % of the lines are run, 80 are needed"
    ]
    assert too_little(rooms, {"video": (79, 71)}) == [
        "core has no least share",
        "video: 70.0 % of the branches are run, 71 are needed",
    ]

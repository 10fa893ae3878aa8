"""The fuzz benchmark: it sees what is uncovered, changes the same bytes twice, and runs a file from end to end."""

from __future__ import annotations

import os
from fractions import Fraction
from pathlib import Path

import pytest

from benchmarks.clips import encode
from benchmarks.faults import fuzz
from benchmarks.faults.fuzz import Verdict, compared, form_of, judge, known_of, main, table_of
from benchmarks.faults.mutated import FORMS, FRAMES, mutate
from streamdeid.video.files.source import FileSource


def test_the_same_seed_changes_the_same_bytes() -> None:
    data = bytes(range(256)) * 100
    assert mutate(data, 3) == mutate(data, 3)
    assert len({mutate(data, seed)[0] for seed in range(20)}) == 20 and data not in {
        mutate(data, n)[0] for n in range(20)
    }


def test_every_container_is_filtered_strictly_and_tolerantly() -> None:
    assert {form_of(number) for number in range(12)} == {(form, mode) for form in FORMS for mode in (False, True)}


def test_an_uncovered_face_is_seen_and_a_damaged_picture_is_counted_apart(tmp_path: Path) -> None:
    known = known_of("mpg", 1)  # its controls: found unfiltered, not found in what was filtered
    whole = tmp_path / known.recording.name
    whole.write_bytes(known.recording.data)
    frames = list(FileSource(whole))
    encode(frames, tmp_path / "open.mp4", Fraction(24), crf=10)
    seen = compared(known, whole, tmp_path / "open.mp4", False)
    people = len(known.recording.clip.watermarks)
    assert (seen.pictures, seen.faces, seen.uncovered, seen.damaged) == (FRAMES, FRAMES * people, FRAMES * people, 0)
    for frame in frames:
        frame.planes.y[100:, :60] = 128  # as a place of damage would
    encode(frames, tmp_path / "damaged.mp4", Fraction(24), crf=10)
    seen = compared(known, tmp_path / "damaged.mp4", tmp_path / "open.mp4", False)
    assert (seen.faces, seen.uncovered) == (0, 0) and seen.damaged == FRAMES * people
    encode(frames[1:], tmp_path / "short.mp4", Fraction(24), crf=10)
    assert compared(known, whole, tmp_path / "short.mp4", False).lost


@pytest.mark.parametrize("number", [3, 9])
def test_a_damaged_file_is_judged(number: int) -> None:
    verdict = judge(number, 1, None)
    assert verdict.code in (0, 1) and verdict.problems == () and bool(verdict.said) == bool(verdict.code)
    bad = Verdict(number, "flip", 4, "x", verdict.seen, 1.0, ("exit code 4",))
    assert "4: 1" in table_of([bad]) and "| 1 |" in table_of([bad]).splitlines()[-1]


def no_models(seed: int) -> str:
    """What the process begins with, where a control fails."""

    def missing(models: object) -> None:
        raise ValueError("no\nmodels")

    vars(fuzz)["load_models"] = missing
    return known_begin(seed)


def dies(seed: int) -> str:
    """What the process begins with, where it dies."""
    os._exit(9)


known_begin = fuzz._begin


@pytest.mark.parametrize(("begin", "reason"), [(no_models, "ValueError: no models"), (dies, "terminated abruptly")])
def test_a_process_that_does_not_start_is_one_line(
    begin: object, reason: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(fuzz, "_begin", begin)
    assert main(["--files", "3"]) == 2
    out, err = capfd.readouterr()
    assert not out and len(err.splitlines()) == 1, err
    assert err.startswith("fuzz: after 0 files the process did not start: ") and reason in err

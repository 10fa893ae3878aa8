"""The report: its schema, and that nothing biometric or secret is in it."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from streamdeid.errors import OutputError
from streamdeid.report.redaction_report import (
    FileFailure,
    FileReport,
    FileSide,
    PictureFormat,
    ProvisionalCounts,
    Report,
    RunChoice,
    Timings,
    as_json,
    finite,
    write_report,
)
from streamdeid.settings import ALL_METHODS
from streamdeid.surrogates.choice import Surrogates, SurrogateSettings
from streamdeid.surrogates.guarantee import guarantee
from tests import simulated_faces

NUMBER = (int, float)
LIBRARIES = ("ai-edge-litert", "mediapipe", "numpy", "numba", "av", "opencv-python")
VERSIONS = ("python", "machine", "streamdeid", *LIBRARIES)
SIDE = {"name": str, "sha256": str, "bytes": int}
FILE = {
    "input": SIDE,
    "output": SIDE,
    "picture": {"codec": str, "width": int, "height": int, "frames_per_second": NUMBER},
    "frames": int,
    "faces": int,
    "people": (int, type(None)),
    "levels": dict,
    "persons": dict,
    "tracks": dict,
    "surrogates": dict,
    "scene_cuts": int,
    "damaged_places": int,
    "dropped_streams": list,
    "timings": {
        "start_up_seconds": NUMBER,
        "filter_seconds": NUMBER,
        "cpu_ms_per_frame": NUMBER,
        "frames_per_second": NUMBER,
        "peak_memory_mib": (*NUMBER, type(None)),
    },
    "shown": int,
    "filled_regions": int,
    "review": (dict, type(None)),
    "segments": int,
    "one_pass": str,
    "dropped_parts": list,
    "cut": int,
    "provisional": (dict, type(None)),
}
PROVISIONAL = {"factor": NUMBER, **dict.fromkeys(("shown", "kept", "tested", "replaced"), int)}
REVIEW = {
    "analysis": str,
    "edits": (dict, type(None)),
    "reviewer": str,
    "reviewed": str,
    "frames_rendered": (int, type(None)),
}
EDITS = {
    "visible_frames": dict,
    "wanted_frames": dict,
    **dict.fromkeys(("covered_places", "covered_frames", "removed_tracks", "removed_frames"), int),
    **dict.fromkeys(("regions", "region_frames", "joined", "parted", "other_surrogates"), int),
    **dict.fromkeys(("doubts_looked_at", "doubts_not_looked_at"), (int, type(None))),
}
CHOICE = {
    "method": str,
    "k": (int, type(None)),
    "q": (*NUMBER, type(None)),
    "factor": (*NUMBER, type(None)),
    "preserved": list,
    "leakage_bits": NUMBER,
    "worst_leakage_bits": NUMBER,
    "transfer": (str, type(None)),
    "eyes": (str, type(None)),
    "keyed": bool,
    "threshold": NUMBER,
    "lookahead_seconds": NUMBER,
    "coast_seconds": NUMBER,
    "reentry": bool,
    "strict": bool,
    "children": bool,
    "tolerant": bool,
    "model_sha256": str,
    "gallery_sha256": str,
    "guarantee": str,
    "whitelisted_pictures": int,
    "min_face": (int, float, type(None)),
    "detector_interval": (int, type(None)),
    "regions": list,
    "register_days": (int, float, type(None)),
}
SCHEMA = {
    "schema": str,
    "version": int,
    "choice": CHOICE,
    "files": list,
    "failures": list,
    "versions": dict.fromkeys(VERSIONS, str),
}


def check(value: Any, schema: Any, where: str = "report") -> None:
    """Assert that a JSON value has just the keys and types of a schema."""
    if isinstance(schema, dict):
        assert isinstance(value, dict), where
        assert set(value) == set(schema), where
        for name, part in schema.items():
            check(value[name], part, f"{where}.{name}")
    else:
        assert isinstance(value, schema), f"{where}: {value!r}"
        assert schema is bool or not isinstance(value, bool), where


def check_report(report: Any) -> None:
    """Assert that a report, as JSON values, follows version 2 of the schema and holds no vector."""
    check({name: value for name, value in report.items() if name != "left_visible"}, SCHEMA)
    assert (report["schema"], report["version"]) == ("streamdeid.report", 2)
    for one in report["files"]:
        check(one, FILE)
        if one["review"] is not None:
            check(one["review"], REVIEW)
            if one["review"]["edits"] is not None:
                check(one["review"]["edits"], EDITS)
        if one["provisional"] is not None:
            check(one["provisional"], PROVISIONAL)
        assert all(isinstance(count, int) for count in one["levels"].values())
        assert sum(one["levels"].values()) == one["faces"]
    for one in report["failures"]:
        check(one, {"input": str, "error": str, "exit_code": int})
    assert not lists_of_numbers(report)


def lists_of_numbers(value: Any) -> list[Any]:
    """All lists in JSON values that hold a number: a vector would be one."""
    if isinstance(value, dict):
        return [found for part in value.values() for found in lists_of_numbers(part)]
    if isinstance(value, list):
        own = [value] if any(isinstance(part, NUMBER) for part in value) else []
        return own + [found for part in value for found in lists_of_numbers(part)]
    return []


@pytest.fixture
def report(tmp_path: Path) -> Report:
    """A report of one file done and one failed."""
    (tmp_path / "a.mp4").write_bytes(b"abc")
    side = FileSide.of(tmp_path / "a.mp4")
    timings = Timings(1.5, 4.0, 31.25, 25.0, None)
    one = FileReport(
        side, side, PictureFormat("h264", 640, 360, 25.0), 100, 90, 1, {"own face": 80, "posed face": 10},
        {"1": {"own face": 80, "posed face": 10}}, {"new": 1}, {"chosen": 1}, 0, 0, ("data stream 2",), timings,
    )  # fmt: skip
    words = guarantee("k-diff-furthest", q=0.5, factor=2.0, worst_bits=1.0)
    choice = RunChoice(
        method="k-diff-furthest",
        k=5,
        q=0.5,
        factor=2.0,
        preserved=("gender",),
        leakage_bits=0.9,
        worst_leakage_bits=1.0,
        transfer="recipe",
        eyes="drawn",
        keyed=True,
        threshold=0.3,
        lookahead_seconds=1.0,
        coast_seconds=1.0,
        reentry=True,
        tolerant=False,
        model_sha256="a" * 64,
        gallery_sha256="b" * 64,
        guarantee=words,
    )
    return Report(choice, (one,), (FileFailure("b.mp4", "b.mp4 cannot be read", 1),))


def test_a_report_follows_its_schema(report: Report, tmp_path: Path) -> None:
    write_report(tmp_path / "r.json", report)
    check_report(json.loads((tmp_path / "r.json").read_text(encoding="utf-8")))


def test_the_check_itself_finds_a_vector(report: Report) -> None:
    values = json.loads(json.dumps(as_json(report)))
    values["files"][0]["surrogates"]["vector"] = [0.25, 1.5]
    with pytest.raises(AssertionError):
        check_report(values)


def test_a_side_has_the_hash_of_the_file_and_no_directory(report: Report, tmp_path: Path) -> None:
    side = report.files[0].input
    assert side.sha256 == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    assert (side.name, side.bytes) == ("a.mp4", 3)
    assert str(tmp_path) not in json.dumps(as_json(report))


def test_a_report_that_cannot_be_written_is_an_output_error(report: Report, tmp_path: Path) -> None:
    with pytest.raises(OutputError, match=r"r\.json"):
        write_report(tmp_path / "nowhere" / "r.json", report)


def test_provisional_faces_are_told_of_where_there_are_any() -> None:
    gallery, key = simulated_faces.gallery(), b"a key for the tests alone"
    surrogates = Surrogates(gallery, simulated_faces.VARIANCES, SurrogateSettings(bank_size=100), key)
    for number in (1, 2, 3):
        surrogates.provisional(number)
    surrogates.adopt(2, 1)
    assert ProvisionalCounts.of(surrogates, 1) == ProvisionalCounts(1.0, shown=3, kept=1, tested=0, replaced=1)
    fixed = Surrogates(gallery, simulated_faces.VARIANCES, SurrogateSettings("k-same-m"), key)
    assert ProvisionalCounts.of(fixed, 0) is None and ProvisionalCounts.of(None, 0) is None


def test_infinity_is_no_number_in_json() -> None:
    assert finite(math.inf) is None
    assert finite(2.0) == 2.0


@pytest.mark.parametrize("method", ALL_METHODS)
def test_every_method_says_what_it_does_not_cover_and_none_says_anonymous(method: str) -> None:
    words = guarantee(method, q=0.5, factor=2.0, worst_bits=0.0)
    assert "does not cover" in words
    assert "anonym" not in words.lower()
    assert ("factor of at most" in words) is (method == "k-diff-furthest")


def test_preserved_attributes_raise_the_factor_in_the_guarantee() -> None:
    words = guarantee("k-diff-furthest", q=0.5, factor=2.0, worst_bits=3.0, classes=3)
    assert "factor of at most 2.00" in words
    assert "3 distributions" in words and "at most 6.00, on average over people" in words
    assert "3.00 bits" in words and "at most 16.00" in words

"""Reading a report again: only whole reports pass, warnings appear when they apply, hashes are compared."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamdeid.core.arrays_file import write_arrays
from streamdeid.core.shipped_models import shipped
from streamdeid.errors import InputError, SettingsError
from streamdeid.report.audit import FileCheck, Totals, check_files, read_report, warnings_of
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
    write_report,
)
from streamdeid.surrogates.guarantee import guarantee
from streamdeid.surrogates.models import GALLERY, MODEL, read_hashes

Values = dict[str, Any]


def choice(method: str = "k-diff-furthest", **changes: Any) -> RunChoice:
    """What a plain run with a key chooses."""
    hashes = read_hashes(shipped())
    plain = RunChoice(
        method=method,
        k=5,
        q=0.5,
        factor=2.0,
        preserved=(),
        leakage_bits=0.0,
        worst_leakage_bits=0.0,
        transfer="recipe",
        eyes="drawn",
        keyed=False,
        threshold=0.3,
        lookahead_seconds=1.0,
        coast_seconds=1.0,
        reentry=True,
        tolerant=False,
        model_sha256=hashes[MODEL],
        gallery_sha256=hashes[GALLERY],
        guarantee=guarantee(method, q=0.5, factor=2.0, worst_bits=0.0),
    )
    return replace(plain, **changes)


def one_file(place: Path, name: str = "clip", **changes: Any) -> FileReport:
    """A file with 100 faces, which is written together with its result."""
    before, after = place / f"{name}.mp4", place / f"{name}_deidentified.mp4"
    before.write_bytes(b"original " + name.encode())
    after.write_bytes(b"result " + name.encode())
    plain = FileReport(
        FileSide.of(before),
        FileSide.of(after),
        PictureFormat("h264", 640, 360, 25.0),
        frames=120,
        faces=100,
        people=1,
        levels={"own face": 100},
        persons={"1": {"own face": 100}},
        tracks={"new": 1},
        surrogates={"chosen": 1},
        scene_cuts=0,
        damaged_places=0,
        dropped_streams=(),
        timings=Timings(1.5, 4.0, 31.25, 25.0, None),
    )
    return replace(plain, **changes)


@pytest.fixture
def report(tmp_path: Path) -> Report:
    """A run over one file, as it should be."""
    return Report(choice(), (one_file(tmp_path),))


def written(report: Report, path: Path) -> Path:
    write_report(path, report)
    return path


def test_what_was_written_is_read_again(report: Report, tmp_path: Path) -> None:
    whole = replace(report, failures=(FileFailure("b.mp4", "cannot be read", 1),))
    assert read_report(written(whole, tmp_path / "r.json")) == whole


def test_a_run_that_filtered_nothing_is_read_too(tmp_path: Path) -> None:
    nothing = Report(None, (), (FileFailure("b.mp4", "cannot be read", 1),))
    read = read_report(written(nothing, tmp_path / "r.json"))
    assert read == nothing
    assert any("no file got as far" in text for text in warnings_of(read))


def test_fields_that_are_not_known_yet_are_passed_over(report: Report, tmp_path: Path) -> None:
    values = json.loads(json.dumps(as_json(report)))
    values["later"] = values["files"][0]["later"] = {"x": 1}
    path = tmp_path / "r.json"
    path.write_text(json.dumps(values), encoding="utf-8")
    assert read_report(path) == report


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A report that the tests below cut."""
    place = tmp_path_factory.mktemp("cut")
    return written(Report(choice(), (one_file(place),)), place / "whole.json")


@settings(deadline=None)
@given(share=st.floats(0.0, 0.999))
def test_a_report_that_is_cut_off_is_an_input_error(share: float, whole: Path) -> None:
    text = whole.read_text(encoding="utf-8").rstrip()
    path = whole.with_name("r.json")
    path.write_text(text[: int(share * len(text))], encoding="utf-8")
    with pytest.raises(InputError, match="cut off or no JSON"):
        read_report(path)


def _without(values: Values, *way: Any) -> None:
    for step in way[:-1]:
        values = values[step]
    del values[way[-1]]


def _set(values: Values, value: Any, *way: Any) -> None:
    for step in way[:-1]:
        values = values[step]
    values[way[-1]] = value


FILE = ("files", 0)


@pytest.mark.parametrize(
    ("way", "value", "named"),
    [
        (("schema",), "another", "not a report"),
        (("version",), "1", "no version"),
        (("version",), True, "no version"),
        (("version",), 0, "no version"),
        (("choice", "k"), 2.5, "choice.k is no int"),
        (("choice", "k"), True, "choice.k is no int"),
        (("choice", "keyed"), 1, "choice.keyed is no bool"),
        (("choice", "preserved"), "gender", "choice.preserved is no list"),
        (("choice", "factor"), "2", "choice.factor is no float"),
        (("choice", "model_sha256"), "abc", "a hash is not one"),
        (("choice", "worst_leakage_bits"), 1e9, "leakage"),
        (("choice",), None, "choice is empty"),
        (("files",), {}, "files is no list"),
        ((*FILE, "input"), "clip.mp4", "input is no object"),
        ((*FILE, "input", "name"), "../clip.mp4", "not a plain one"),
        ((*FILE, "output", "name"), "..", "not a plain one"),
        ((*FILE, "levels", "own face"), 99, "do not agree"),
        ((*FILE, "persons", "1", "own face"), 101, "do not agree"),
        ((*FILE, "frames"), -1, "count"),
        ((*FILE, "frames"), 10**400, "count"),
        ((*FILE, "timings", "filter_seconds"), 10**400, "not a whole report"),
        ((*FILE, "surrogates"), ["chosen"], "surrogates is no object"),
        ((*FILE, "provisional"), {"factor": 1.0, "shown": 2, "kept": 3, "tested": 0, "replaced": 0}, "provisional"),
        ((*FILE, "provisional"), {"factor": 1.0, "shown": 2, "kept": 0, "tested": 0, "replaced": 3}, "provisional"),
        ((*FILE, "provisional"), {"factor": 0.5, "shown": 2, "kept": 1, "tested": 0, "replaced": 1}, "provisional"),
        ((*FILE, "provisional"), {"factor": 1.0, "shown": 2, "kept": 1, "tested": -1, "replaced": 1}, "count"),
        ((*FILE, "provisional"), {"factor": 1.0, "shown": 2}, "provisional.kept is missing"),
    ],
)
def test_what_no_run_can_have_written_is_refused(
    way: tuple[Any, ...], value: Any, named: str, report: Report, tmp_path: Path
) -> None:
    values = json.loads(json.dumps(as_json(report)))
    _set(values, value, *way)
    path = tmp_path / "r.json"
    path.write_text(json.dumps(values), encoding="utf-8")
    with pytest.raises(InputError, match=named):
        read_report(path)


@pytest.mark.parametrize("way", [("choice",), ("files",), ("versions",), ("choice", "eyes"), (*FILE, "levels")])
def test_what_is_missing_is_named(way: tuple[Any, ...], report: Report, tmp_path: Path) -> None:
    values = json.loads(json.dumps(as_json(report)))
    _without(values, *way)
    path = tmp_path / "r.json"
    path.write_text(json.dumps(values), encoding="utf-8")
    with pytest.raises(InputError, match=f"{way[-1]} is missing"):
        read_report(path)


@pytest.mark.parametrize("content", [b"", b"[]", b"[" * 100_000, b"\xff\xfe", b'{"schema": NaN}', b"null"])
def test_other_files_are_input_errors(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"r\.json"):
        read_report(path)
    with pytest.raises(InputError, match="cannot be read"):
        read_report(tmp_path / "nowhere.json")


def test_a_report_of_version_1_is_read_as_well(report: Report, tmp_path: Path) -> None:
    path, today = tmp_path / "report.json", as_json(report)
    choice = {**today["choice"]}
    choice |= {"price_bits": choice.pop("leakage_bits"), "worst_price_bits": choice.pop("worst_leakage_bits")}
    files = [{**one, "rungs": one["levels"]} for one in today["files"]]
    for one in files:
        del one["levels"]
    path.write_text(json.dumps({**today, "version": 1, "choice": choice, "files": files}), encoding="utf-8")
    assert read_report(path) == report


def test_a_newer_version_is_not_guessed_at(report: Report, tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    path.write_text(json.dumps({**as_json(report), "version": 3, "choice": "what?"}), encoding="utf-8")
    with pytest.raises(SettingsError, match="version 3"):
        read_report(path)


def test_a_good_run_has_only_the_key_to_mind(report: Report) -> None:
    assert [text.split(":")[0] for text in warnings_of(report)] == ["no key file"]


@pytest.mark.parametrize(
    ("changed", "named"),
    [
        ({"method": "blur"}, "blur leaves something of a face"),
        ({"method": "k-same-m"}, "no bound"),
        ({"eyes": "original"}, "eyes identify"),
        ({"transfer": "paper"}, "as printed in the paper"),
        ({"children": True}, "children's faces were not attacked"),
        ({"keyed": True}, "made with a key file"),
        ({"register_days": 7.5}, "biometric data for 7.5 days"),
    ],
)
def test_warnings_about_choices(changed: Values, named: str, report: Report) -> None:
    def told(of: Report) -> int:
        return sum(named in text for text in warnings_of(of))

    assert (told(report), told(replace(report, choice=choice(**changed)))) == (0, 1)


@pytest.mark.parametrize(
    ("changed", "named"),
    [
        ({"faces": 0, "levels": {}, "persons": {}}, "no face was found in 1 file"),
        ({"surrogates": {"failed closed": 2}}, "2 times no surrogate"),
        ({"surrogates": {"separation relaxed": 3}}, "relaxed 3 times"),
        ({"levels": {"own face": 89, "soft redaction": 11}}, "11.0 % of the faces are redacted, without a new face"),
        ({"persons": {"0": {"own face": 4}, "1": {"own face": 96}}}, "4 faces are of people"),
        ({"damaged_places": 7}, "7 damaged places"),
        ({"cut": 3}, "3 redactions of faces that were not seen were cut to 1.6 times"),
        ({"dropped_streams": ("data",)}, "1 stream of the input"),
    ],
)
def test_warnings_about_counts(changed: Values, named: str, report: Report) -> None:
    def told(of: Report) -> int:
        return sum(named in text for text in warnings_of(of))

    assert (told(report), told(replace(report, files=(replace(report.files[0], **changed),)))) == (0, 1)


@pytest.mark.parametrize("level", ["posed face", "own face quiet"])
def test_a_posed_face_is_a_new_face_in_an_earlier_versions_report_too(
    level: str, report: Report, tmp_path: Path
) -> None:
    levels = {level: 100}
    changed = replace(report, files=(replace(report.files[0], levels=levels, persons={"1": levels}),))
    read = read_report(written(changed, tmp_path / "earlier.json"))
    assert Totals.of(read.files).levels == levels
    assert not any("redacted" in text for text in warnings_of(read))


def test_blackout_hides_the_whole_face(report: Report) -> None:
    texts = warnings_of(replace(report, choice=choice("blackout", transfer=None, eyes=None)))
    assert texts == []


def test_totals_add_up(tmp_path: Path) -> None:
    a, b = one_file(tmp_path), one_file(tmp_path, faces=3, people=2, levels={"own face": 1, "soft redaction": 2})
    assert Totals.of([a, b]) == Totals(240, 103, 3, {"own face": 101, "soft redaction": 2}, None)
    first, second = ProvisionalCounts(1.0, 3, 2, 0, 1), ProvisionalCounts(1.0, 4, 1, 0, 0)
    several = [replace(a, provisional=first), b, replace(b, provisional=second)]
    assert Totals.of(several).provisional == ProvisionalCounts(1.0, 7, 3, 0, 1)
    assert Totals.of([replace(a, people=None)]).people is None


def by_role(checks: list[FileCheck]) -> dict[str, bool | None]:
    return {check.role: check.matches for check in checks}


def test_files_beside_the_report_are_compared(report: Report, tmp_path: Path) -> None:
    assert by_role(check_files(report, [tmp_path])) == dict.fromkeys(("input", "output", "model", "gallery"), True)
    with (tmp_path / "clip_deidentified.mp4").open("ab") as file:
        file.write(b".")
    (tmp_path / "clip.mp4").unlink()
    assert by_role(check_files(report, [tmp_path])) == {"input": None, "output": False, "model": True, "gallery": True}


def test_a_result_with_the_name_of_its_original_is_not_taken_for_it(tmp_path: Path) -> None:
    one = one_file(tmp_path)
    same = replace(one, output=replace(one.output, name="clip.mp4"))
    there = tmp_path / "out"
    there.mkdir()
    (there / "clip.mp4").write_bytes(b"result clip")
    report = Report(choice(), (same,))
    found = by_role(check_files(report, [tmp_path]))
    assert (found["input"], found["output"]) == (True, None)
    found = by_role(check_files(report, [tmp_path, there]))
    assert (found["input"], found["output"]) == (True, True)


def test_models_at_hand_are_compared_by_content(report: Report, tmp_path: Path) -> None:
    own = write_arrays(tmp_path / MODEL, {"x": np.arange(3)})
    assert by_role(check_files(report, [tmp_path]))["model"] is False
    mine = replace(report, choice=choice(model_sha256=own, gallery_sha256="f" * 64))
    found = check_files(mine, [tmp_path])
    assert (by_role(found)["model"], by_role(found)["gallery"]) == (True, None)
    (tmp_path / MODEL).write_bytes(b"damaged")
    assert by_role(check_files(mine, [tmp_path]))["model"] is False

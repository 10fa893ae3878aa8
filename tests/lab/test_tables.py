"""The laboratory's report, as Markdown and JSON, and its plots."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from pathlib import Path

import cv2
import matplotlib
import numpy as np
import pytest

from streamdeid.errors import OutputError
from streamdeid.lab.plots import histogram_plot, line_plot
from streamdeid.lab.tables import Chapter, ClaimVerdict, Table, percent, within, write_chapters

TABLE = Table(
    "Recognition",
    ("method", "rank-1", "n", "share"),
    (("none", 1.0, 40, "100.0 %"), ("a|b\nc", 0.0123456, 3, None)),
    "Worst case.",
)
CHAPTER = Chapter(
    "newton",
    "Newton's attacks",
    "What was done.",
    (TABLE,),
    (
        ClaimVerdict("bar mask falls to the parrot", "100 %", "99.5 %", True),
        ClaimVerdict("noise", "1 %", "4.0 %", False),
    ),
    ("newton.png",),
)


def test_markdown_tells_the_verdicts_and_the_missed_ones_first(tmp_path: Path) -> None:
    write_chapters(tmp_path, "laboratory", "Laboratory", [CHAPTER])
    text = (tmp_path / "laboratory.md").read_text(encoding="utf-8")
    assert text.startswith("# Laboratory\n")
    assert "1 of 2 claims met. Missed:\n\n* [Newton's attacks](#newton): noise\n" in text
    assert "* **met**: bar mask falls to the parrot - expected 100 %, measured 99.5 %\n" in text
    assert "* **missed**: noise - expected 1 %, measured 4.0 %\n" in text
    assert text.index("1 of 2") < text.index('<a id="newton"></a>') < text.index("## Newton's attacks")
    assert "![Newton's attacks](newton.png)" in text


def test_markdown_tables_keep_their_cells(tmp_path: Path) -> None:
    write_chapters(tmp_path, "laboratory", "Laboratory", [CHAPTER])
    text = (tmp_path / "laboratory.md").read_text(encoding="utf-8")
    assert (
        "**Recognition**\n\n| method | rank-1 | n | share |\n|---|---:|---:|---:|\n| none | 1 | 40 | 100.0 % |\n"
        in text
    )
    assert "| a\\|b c | 0.01235 | 3 | - |\n\nWorst case." in text


def test_json_is_stable_sorted_and_without_nan(tmp_path: Path) -> None:
    table = Table("t", ("x", "y"), ((math.nan, math.inf), (np.float64(0.5), True)))
    chapter = Chapter("c", "C", "", (table,), (ClaimVerdict("v", "1", "1", bool(np.bool_(True))),))
    extra = {"z": np.array([1.0, np.nan]), "a": {"path": Path("here"), "n": np.int64(3)}, "s": {2, 1}}
    texts = []
    for folder in ("one", "two"):
        write_chapters(tmp_path / folder, "lab", "Lab", [chapter], extra)
        texts.append((tmp_path / folder / "lab.json").read_bytes())
    assert texts[0] == texts[1] and b"NaN" not in texts[0] and b"Infinity" not in texts[0]
    values = json.loads(texts[0])
    assert list(values) == sorted(values)
    assert values["chapters"][0]["tables"][0]["rows"] == [[None, None], [0.5, True]]
    assert values["extra"] == {"a": {"n": 3, "path": "here"}, "s": [1, 2], "z": [1.0, None]}
    assert (values["schema"], values["version"], values["chapters"][0]["slug"]) == ("streamdeid.laboratory", 1, "c")
    assert "| - | - |\n| 0.5 | yes |" in (tmp_path / "one" / "lab.md").read_text(encoding="utf-8")


def test_what_json_cannot_hold_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="object"):
        write_chapters(tmp_path, "lab", "Lab", [], {"x": object()})
    assert list(tmp_path.iterdir()) == []


def test_rows_must_fit_the_columns() -> None:
    with pytest.raises(ValueError, match="another length"):
        Table("t", ("a", "b"), ((1,),))


def test_percent_and_within() -> None:
    assert (percent(0.1234), percent(1.0, 0), percent(0.00051, 2)) == ("12.3 %", "100 %", "0.05 %")
    assert percent(None) == percent(math.nan) == "not measured"
    assert within(0.4, 0.3, 0.1) and within(0.2, 0.3, 0.1) and within(1.0, 1.0, 0.0)
    assert not within(0.41, 0.3, 0.1) and not within(None, 0.3, 0.1) and not within(math.nan, 0.3, 9.0)


def test_a_report_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    with pytest.raises(OutputError, match="cannot be written") as error:
        write_chapters(blocked, "lab", "Lab", [CHAPTER])
    assert "\n" not in str(error.value)
    with pytest.raises(OutputError, match="cannot be written"):
        line_plot(blocked / "p.png", "t", "x", "y", {})
    with pytest.raises(OutputError, match="cannot be written"):
        histogram_plot(tmp_path, "t", "x", {"a": np.arange(3.0)})


def picture(path: Path) -> np.ndarray[tuple[int, ...], np.dtype[np.uint8]]:
    """The pixels of a file, uint8 (h, w, 3)."""
    read = cv2.imread(str(path))
    assert read is not None
    return np.asarray(read, np.uint8)


def test_plots_have_one_size_and_show_their_series(tmp_path: Path) -> None:
    line_plot(tmp_path / "a" / "none.png", "t", "x", "y", {})
    line_plot(tmp_path / "one.png", "t", "x", "y", {"a": ([1, 2, 3], [0.1, math.nan, 0.3])})
    line_plot(tmp_path / "log.png", "t", "x", "y", {"a": ([1, 10, 100], [0.1, 0.2, 0.3])}, log_x=True)
    line_plot(tmp_path / "linear.png", "t", "x", "y", {"a": ([1, 10, 100], [0.1, 0.2, 0.3])})
    shown = [picture(tmp_path / name) for name in ("a/none.png", "one.png", "log.png", "linear.png")]
    assert {one.shape for one in shown} == {(420, 700, 3)}
    assert (shown[2] != shown[3]).any()
    blue = [int(((one[..., 0] > 150) & (one[..., 2] < 80)).sum()) for one in shown]
    assert blue[0] == 0 and min(blue[1:]) > 50


def test_histograms_compare_shares_and_name_what_is_empty(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    histogram_plot(
        tmp_path / "h.png", "t", "x", {"a": rng.normal(size=50), "b": np.append(rng.normal(5, 1, 5000), np.nan)}
    )
    shown = picture(tmp_path / "h.png").astype(int)
    blue = ((shown[..., 0] - shown[..., 2]) > 60).nonzero()[0]
    orange = ((shown[..., 2] - shown[..., 0]) > 60).nonzero()[0]
    # Fifty values rise as high as five thousand of the same spread.
    assert len(blue) > 500 and len(orange) > 500
    histogram_plot(tmp_path / "e.png", "t", "x", {"a": np.full(3, np.nan)}, bins=5)
    histogram_plot(tmp_path / "n.png", "t", "x", {})
    assert (tmp_path / "e.png").read_bytes() != (tmp_path / "n.png").read_bytes()


def test_plots_are_equal_byte_for_byte_whatever_the_user_configured(tmp_path: Path) -> None:
    series = {"a": ([1.0, 2.0], [0.1, 0.2])}
    line_plot(tmp_path / "1.png", "t", "x", "y", series)
    with matplotlib.rc_context({"axes.facecolor": "red", "font.size": 20.0}):
        line_plot(tmp_path / "2.png", "t", "x", "y", series)
        assert matplotlib.rcParams["font.size"] == 20.0
    data = (tmp_path / "1.png").read_bytes()
    assert data == (tmp_path / "2.png").read_bytes()
    assert b"matplotlib" not in data.lower() and b"tEXt" not in data


def test_plotting_leaves_pyplot_alone() -> None:
    code = "import sys, streamdeid.lab.plots; assert 'matplotlib.pyplot' not in sys.modules"
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True)


def test_one_line_says_that_the_laboratory_wants_matplotlib() -> None:
    code = """
import sys
sys.modules["matplotlib"] = None
sys.argv = ["streamdeid", "evaluate", "attacks"]
from streamdeid.cli.main import run
run()
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 2
    told = "the laboratory draws with matplotlib: pip install 'streamdeid[evaluation]'"
    assert done.stderr.splitlines() == [f"streamdeid: {told}"]

"""`python -m benchmarks`: the list is complete, each benchmark starts, and a wrong name is told."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

from benchmarks.__main__ import benchmarks, listed, main

HERE = Path(__file__).parents[2] / "benchmarks"


def test_the_list_names_every_benchmark_with_its_question() -> None:
    found = benchmarks()
    assert {"leaks", "people", "privacy", "cost", "live"} <= set(found)
    for name, (folder, question) in found.items():
        assert len(question) > 20 and f"  {name} " in listed() and question in listed()
        assert (HERE / folder / f"{name}.py").is_file()


def test_only_the_runner_is_a_program() -> None:
    programs = [path for path in HERE.rglob("*.py") if "__main__" in path.read_text(encoding="utf-8")]
    assert programs == [HERE / "__main__.py"]


@pytest.mark.parametrize("name", [name for name in benchmarks() if not name.startswith("live")])
def test_each_tells_how_it_is_called(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Not those that need GStreamer's server."""
    with pytest.raises(SystemExit) as ended:
        main([name, "--help"])
    assert ended.value.code == 0
    said = capsys.readouterr().out
    assert said.startswith(f"usage: python -m benchmarks {name} ")
    module = importlib.import_module(f"benchmarks.{benchmarks()[name][0]}.{name}")
    assert (module.__doc__ or "").partition("\n")[0] in said


def test_a_wrong_name_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["nothing_of_the_kind"]) == 2
    assert "there is no benchmark 'nothing_of_the_kind'" in capsys.readouterr().err
    assert main([]) == 0 and "crowds" in capsys.readouterr().out


def test_two_of_one_name_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "same.py").write_text('"""A question."""\ndef main(argv): ...\n', encoding="utf-8")
    monkeypatch.setattr("benchmarks.__main__.HERE", tmp_path)
    with pytest.raises(ValueError, match="same"):
        benchmarks()

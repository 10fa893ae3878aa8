"""`streamdeid evaluate`: reproduce the papers, attack the methods, measure what published faces keep."""

from __future__ import annotations

import argparse
import contextlib
import itertools
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from streamdeid.aam.photographs import Detect, Photograph, read_labels, read_photographs, reduced
from streamdeid.cli.inputs import make_directory
from streamdeid.cli.progress import ShareBar
from streamdeid.core.named_files import INPUT, PHOTOGRAPH, RECOGNISER, REPORT, TABLE, Named, check_named
from streamdeid.core.shown_text import say
from streamdeid.errors import ExitCode, FailedClosed, InputError, OutputError, SettingsError
from streamdeid.identity.face_recogniser import FaceRecogniser
from streamdeid.identity.picture_recognisers import DlibResnet, OnnxRecogniser
from streamdeid.lab.attacks.campaign import FULL, QUICK
from streamdeid.lab.attacks.parameter_space import attack_parameters
from streamdeid.lab.attacks.results import UNALTERED, UNRELATED
from streamdeid.lab.evaluate_videos import video_chapters
from streamdeid.lab.papers import (
    distinguishable_faces,
    perfect_protection,
    preserving_privacy,
    retained_expressions,
    same_class,
)
from streamdeid.lab.picture_attacks.attack_pictures import attack_pictures
from streamdeid.lab.picture_attacks.other_photographs import people_rows, read_people
from streamdeid.lab.tables import Chapter, write_chapters
from streamdeid.lab.utility.measure import measure_utility
from streamdeid.runs.named_by_settings import files_of_models
from streamdeid.runs.parts import photograph_detector, still_detector
from streamdeid.surrogates.choice import METHODS
from streamdeid.surrogates.models import Models, load_models

DESCRIPTION = """\
Measure the methods, and write a report with tables and verdicts, NAME.md and NAME.json, into a directory.

  papers   reproduce the figures and tables of the five k-Same papers
  attacks  attack what each method publishes: parameters, pictures and, with --videos, clips
  utility  what published faces keep: expression, geometry, gender and age, distinctness

DIR holds sets of photographs, one directory each: london (the donors), canada (people whom the model never saw) and,
for the papers, imm37 and lfpw. The reports hold no photograph; one picture of the papers' shows faces that a model of
imm37 and lfpw decodes: keep distinguishable-faces-sheet.png as private as those sets. `attacks` wants the extra
`evaluation`, which brings dlib's recogniser; without it that part is named as not run. Exit code 4: the attacks'
controls were off."""

_PARTS = {"papers": "The papers reproduced", "attacks": "Attacks", "utility": "What published faces keep"}
_WANTED = {
    "papers": ("london", "canada", "imm37", "lfpw/trainset", "lfpw/testset"),
    "attacks": ("london", "canada"),
    "utility": ("london", "canada"),
}
"""Sets of photographs that each part reads."""
_QUICK_SETS = {"lfpw/trainset": 40}
"""Photographs of a set that --quick reads: P5's masks want 21 of these, and its k-Same can do without."""
_WIDTH = 300.0
"""Width in pixels to which faces are reduced when they are read."""
_ENDS_OF_THE_SCALE = (UNALTERED, UNRELATED)
_SEED = 20261121
_CONTROL = "control:"
"""How the claims of controls begin."""

Progress = Callable[[float, str], None]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("part", choices=tuple(_PARTS), help="what to measure")
    parser.add_argument("--faces", type=Path, required=True, metavar="DIR", help="sets of photographs")
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="where the report goes")
    parser.add_argument("--quick", action="store_true", help="fewer people and runs: minutes become seconds")
    parser.add_argument("--videos", type=Path, metavar="DIR", help="attack the filter's output on these clips too")
    parser.add_argument(
        "--people",
        type=Path,
        metavar="FILE.csv",
        help="attack with other photographs of the same people too: columns photograph (a path under --faces) and "
        "person; the first of each person is the attacker's, the others are filtered",
    )
    parser.add_argument(
        "--recogniser", type=Path, metavar="MODEL.onnx", help="attack with a recogniser of your own too"
    )
    parser.add_argument("--models", type=Path, metavar="DIR", help="models to use instead of the shipped ones")
    parser.add_argument("--overwrite", action="store_true", help="replace an existing report")
    parser.add_argument("--quiet", action="store_true", help="no progress bar and no summary")


def run(arguments: argparse.Namespace) -> ExitCode:
    """Run the command. Raises InputError, SettingsError, OutputError, and FailedClosed when a control is off."""
    part, out = arguments.part, arguments.out
    if part != "attacks" and (arguments.videos or arguments.people or arguments.recogniser):
        raise SettingsError(f"--videos, --people and --recogniser belong to attacks, not to {part}")
    _check_out(arguments)
    # Looked at now, not after half an hour of measuring.
    for name in _WANTED[part]:
        if not (arguments.faces / name).is_dir():
            raise InputError(f"{arguments.faces / name} is not a directory of photographs")
    if arguments.videos and not arguments.videos.is_dir():
        raise InputError(f"{arguments.videos} is not a directory of videos")
    for photograph, _ in people_rows(arguments.people) if arguments.people else ():
        if not (arguments.faces / photograph).is_file():
            raise InputError(f"{arguments.people}: there is no photograph {arguments.faces / photograph}")
    if arguments.recogniser:
        OnnxRecogniser(arguments.recogniser)
    make_directory(out)
    models = load_models(arguments.models)
    with contextlib.closing(still_detector()) as detector, ShareBar(part, shown=not arguments.quiet) as bar:
        sets = _Sets(arguments.faces, photograph_detector(detector), _QUICK_SETS if arguments.quick else {})
        chapters = _MEASURE[part](arguments, models, sets, bar)
    facts = {"model": models.fitting.model.sha256, "gallery": models.gallery.sha256, "quick": arguments.quick}
    write_chapters(out, part, _PARTS[part], chapters, facts)
    if not arguments.quiet:
        _summary(out / f"{part}.md", chapters)
    off = [v.claim for chapter in chapters for v in chapter.verdicts if v.claim.startswith(_CONTROL) and not v.met]
    if off:
        raise FailedClosed(f"the run says nothing, {len(off)} of its controls are off: {off[0]}")
    return ExitCode.DONE


def _check_out(arguments: argparse.Namespace) -> None:
    """Raise SettingsError where the report would replace what is read, OutputError where it would what is there."""
    part, out = arguments.part, arguments.out
    made = {out / f"{part}.md", out / f"{part}.json"}
    if part == "papers" and out.is_dir():  # its pictures lie beside it, by many names
        made |= set(out.glob("*.png"))
    named = [Named(REPORT, path) for path in sorted(made)] + list(files_of_models(arguments.models))
    named += [Named(TABLE, arguments.people)] if arguments.people else []
    named += [Named(RECOGNISER, arguments.recogniser)] if arguments.recogniser else []
    for role, folder in ((PHOTOGRAPH, arguments.faces), (INPUT, arguments.videos)):
        # What is written lies right in the report's folder, so only what is read from there can be met.
        if folder is not None and out.resolve().is_relative_to(folder.resolve()) and out.is_dir():
            named += [Named(role, path) for path in out.iterdir()]
    check_named("evaluate", named)
    for path in sorted(made):
        if os.path.lexists(path) and not arguments.overwrite:
            raise OutputError(f"{path} exists; use --overwrite to replace it")


class _Sets:
    """The sets of photographs, each read once; of those named in `most` so many people only."""

    def __init__(self, directory: Path, detect: Detect, most: Mapping[str, int]) -> None:
        self.directory, self.detect = directory, detect
        self._most = most
        self._read: dict[str, list[Photograph]] = {}
        self.progress: Progress = lambda share, text: None

    def photographs(self, name: str) -> list[Photograph]:
        """A set by its directory's name. Raises InputError."""
        if name not in self._read:
            found = read_photographs(
                self.directory / name,
                self.detect,
                lambda file: self.progress(0.0, f"reading {name}/{file}"),
                most=self._most.get(name),
            )
            self._read[name] = [reduced(photograph, _WIDTH) for photograph in found]
        return self._read[name]

    def labels(self, name: str) -> Mapping[str, Mapping[str, str]]:
        """What is known of the people of a set."""
        return read_labels(self.directory / name)


def _papers(arguments: argparse.Namespace, models: Models, sets: _Sets, bar: ShareBar) -> list[Chapter]:
    out, quick, model = arguments.out, arguments.quick, models.fitting.model
    sets.progress = bar
    return [
        preserving_privacy.reproduce(sets.photographs, out, quick=quick, progress=bar.part(0.0, 0.25)),
        perfect_protection.reproduce(sets.photographs, model, out, quick=quick, progress=bar.part(0.25, 0.4)),
        same_class.reproduce(
            sets.photographs, out, labels=sets.labels("london"), quick=quick, progress=bar.part(0.4, 0.6)
        ),
        distinguishable_faces.reproduce(sets.directory, sets.detect, out, quick=quick, progress=bar.part(0.6, 0.85)),
        retained_expressions.reproduce(sets.photographs, model, out, quick=quick, progress=bar.part(0.85, 1.0)),
    ]


def _attacks(arguments: argparse.Namespace, models: Models, sets: _Sets, bar: ShareBar) -> list[Chapter]:
    quick, fitting = arguments.quick, models.fitting
    people = read_people(people_rows(arguments.people), arguments.faces, sets.detect) if arguments.people else None
    end = 0.8 if arguments.videos else 1.0
    sets.progress = bar
    size = QUICK if quick else FULL
    chapters = [
        attack_parameters(
            models.gallery,
            fitting.model.variances,
            size=size,
            rng_seed=_SEED,
            progress=_steps(bar.part(0.0, 0.3), size.trials * (len(METHODS) + len(_ENDS_OF_THE_SCALE))),
        ),
        *attack_pictures(
            sets.photographs,
            sets.labels,
            fitting,
            models.gallery,
            sets.detect,
            people=people,
            onnx=arguments.recogniser,
            quick=quick,
            progress=bar.part(0.3, end),
        ),
    ]
    if arguments.videos:
        steps = 2 * len(list(arguments.videos.glob("*"))) + 1
        chapters += video_chapters(
            arguments.videos,
            models=models,
            recogniser=_dlib(),
            quick=quick,
            progress=_steps(bar.part(end, 1.0), steps),
        )
    return chapters


def _dlib() -> FaceRecogniser | None:
    """dlib's recogniser; None without the extra, as the chapter on recognition says."""
    try:
        return DlibResnet()
    except SettingsError:
        return None


def _steps(progress: Progress, total: int) -> Callable[[str], None]:
    """Counts what is told of: at most `total` times."""
    done = itertools.count()
    return lambda text: progress(min(next(done) / total, 1.0), text)


def _utility(arguments: argparse.Namespace, models: Models, sets: _Sets, bar: ShareBar) -> list[Chapter]:
    sets.progress = bar
    return measure_utility(
        sets.photographs,
        models.fitting,
        models.gallery,
        sets.detect,
        quick=arguments.quick,
        progress=bar,
        labels=sets.labels,
    )


_MEASURE: dict[str, Callable[[argparse.Namespace, Models, _Sets, ShareBar], list[Chapter]]] = {
    "papers": _papers,
    "attacks": _attacks,
    "utility": _utility,
}


def _summary(report: Path, chapters: Sequence[Chapter]) -> None:
    verdicts = [verdict for chapter in chapters for verdict in chapter.verdicts]
    missed = [verdict for verdict in verdicts if not verdict.met]
    for verdict in missed:
        say(f"missed: {verdict.claim}: expected {verdict.expected}, measured {verdict.measured}")
    say(f"{len(verdicts) - len(missed)} of {len(verdicts)} claims met; {report} has the tables")

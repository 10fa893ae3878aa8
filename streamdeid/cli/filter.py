"""`streamdeid filter`: files in, de-identified files out; or a camera in, and a filtered stream out."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict
from pathlib import Path

from streamdeid.cli.error_text import UsageError, complain, explain
from streamdeid.cli.filter_live import is_live, run_live
from streamdeid.cli.inputs import Job, plan
from streamdeid.cli.live_options import add_live_options, refuse_live_options
from streamdeid.cli.progress import Bar
from streamdeid.core.process_usage import be_frugal
from streamdeid.errors import ExitCode, OutputError
from streamdeid.protect.fixed_regions import read_region
from streamdeid.report.redaction_report import FileFailure, FileReport, Report, write_report
from streamdeid.runs.components import ENCODER_PRESETS, WRITABLE
from streamdeid.runs.files import FileRun
from streamdeid.settings import (
    ALL_METHODS,
    BUILT_IN,
    DLIB,
    EYES,
    LEAST_DEADLINE,
    LEAST_FACE,
    MOST_COAST,
    MOST_DEADLINE,
    MOST_FACE,
    MOST_INTERVAL,
    MOST_LOOKAHEAD,
    TRANSFERS,
    Settings,
    attributes_of,
)

DESCRIPTION = """\
Replace every face in video files or in a live stream by a synthetic one (or cover it by a mask).

INPUT is a file, a directory (the videos in it) or a quoted pattern. With two arguments the second is OUTPUT: a file, or
a directory; with more, the last one is when it is a directory. Use -o where that is not what you mean. Without OUTPUT
each result lies beside its input as <stem>_deidentified.<ext>.

Files are filtered one after another; a bad one is reported and does not stop the others. The exit code is then the
highest of all files: 0 done, 1 an input could not be read, 2 wrong usage or settings, 3 an output could not be
written, 4 the filter failed closed. 130 and 143: stopped by Ctrl-C or SIGTERM, and the file at hand was not written.

Live: `filter rtsp://camera/stream rtsp://server/path` goes on until it is stopped, and opens again what is lost. A
frame that cannot be filtered is withheld: the last filtered one is repeated for at most 2 seconds, then comes a slate.
What was recorded until a signal stays, playable."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    default = Settings()
    parser.add_argument(
        "arguments", nargs="+", metavar="INPUT [OUTPUT]", help="files, a directory or a pattern; a camera"
    )
    parser.add_argument("-o", "--output", help="file or directory for the result; all others are inputs")
    faces = parser.add_argument_group("faces")
    faces.add_argument("--method", default=default.method, help=f"one of {', '.join(ALL_METHODS)} (%(default)s)")
    faces.add_argument("--k", type=int, help=f"reference faces in a cluster ({default.k})")
    faces.add_argument("--q", type=float, help=f"share of possible faces, the nearest, ruled out ({default.q})")
    faces.add_argument(
        "--preserve",
        metavar="NAMES",
        help="attributes to keep: gender,age or some or none of them; each tells something, see the report (gender)",
    )
    faces.add_argument("--key-file", type=Path, help="secret that makes the run repeatable (16 bytes or more)")
    faces.add_argument("--transfer", help=f"how expressions are carried over: {' or '.join(TRANSFERS)}")
    faces.add_argument("--eyes", help=f"whose eyes are shown: {' or '.join(EYES)} (the person's own leak)")
    faces.add_argument(
        "--threshold",
        type=float,
        default=default.threshold,
        help="evidence for a face, above 0, at most 1 (%(default)s)",
    )
    faces.add_argument(
        "--min-face",
        type=float,
        metavar="PX",
        help=f"smallest face looked for, {LEAST_FACE:g} to {MOST_FACE:g} (an 80th of the longer side, least 16)",
    )
    faces.add_argument(
        "--detector-interval",
        type=int,
        metavar="N",
        default=default.detector_interval,
        help=f"frames in which every part of the picture is searched once, 1 to {MOST_INTERVAL} (%(default)s); 1 costs "
        "most",
    )
    faces.add_argument(
        "--detector-deadline",
        type=float,
        metavar="S",
        default=default.detector_deadline,
        help=f"seconds, {LEAST_DEADLINE:g} to {MOST_DEADLINE:g}, after which a silent detector failed (%(default)s)",
    )
    faces.add_argument(
        "--lookahead",
        type=float,
        metavar="S",
        help=f"seconds, 0 to {MOST_LOOKAHEAD:g}, known ahead of what is written ({default.lookahead}; live: 0)",
    )
    faces.add_argument(
        "--coast",
        type=float,
        metavar="S",
        default=default.coast,
        help=f"seconds, 0 to {MOST_COAST:g}, that a lost face stays covered (%(default)s)",
    )
    faces.add_argument(
        "--strict",
        action="store_true",
        default=None,
        help="one colour instead of a soft redaction where no new face is shown: a soft one keeps a coarse tone",
    )
    faces.add_argument("--no-reentry", action="store_true", help="give who comes back a new face")
    faces.add_argument(
        "--region",
        action="append",
        default=[],
        metavar="X,Y,W,H",
        help="fill this area in every frame: pixels of the upright picture, or percent as in 0,90%%,100%%,10%%; may be "
        "given more than once (--region=-9,... for a negative X)",
    )
    known = parser.add_argument_group("people who are left as they are (their faces are NOT protected)")
    known.add_argument(
        "--whitelist",
        type=Path,
        action="append",
        default=[],
        metavar="PICTURE",
        help="one face, frontal, 80 pixels wide or more: who is shown there stays unfiltered while recognition is "
        "certain, and is covered in any doubt; a sharp picture by the same camera in the same light serves best, a "
        "blurred one is refused, others mostly lead to covers. May be given more than once. Strangers who look much "
        "alike can be taken for them",
    )
    known.add_argument(
        "--whitelist-recogniser",
        metavar="NAME",
        default=default.whitelist_recogniser,
        help=f"{BUILT_IN}, {DLIB} (extra `evaluation`; minds light and expression less) or an .onnx file (%(default)s)",
    )
    known.add_argument(
        "--whitelist-threshold", type=float, metavar="D", help="largest distance of one person (the recogniser's own)"
    )
    faces.add_argument("--models", type=Path, metavar="DIR", help="own models, from `streamdeid train`")
    add_live_options(parser)
    encoding = parser.add_argument_group("encoding")
    encoding.add_argument("--codec", help="video encoder, as in libx264 (the container's default)")
    encoding.add_argument("--crf", type=int, help="quality, lower is better (the encoder's default)")
    encoding.add_argument(
        "--preset", default=default.preset, help=f"speed of the encoder: {', '.join(ENCODER_PRESETS)} (%(default)s)"
    )
    files = parser.add_argument_group("files")
    files.add_argument("--no-audio", action="store_true", help="leave the sound out")
    files.add_argument("--keep-metadata", action="store_true", help="keep titles, dates, location, device")
    files.add_argument("--overwrite", action="store_true", help="replace an existing output")
    files.add_argument("--tolerant", action="store_true", help="filter damaged files as far as they can be decoded")
    files.add_argument("--report", type=Path, metavar="JSON", help="write what was done, with hashes and counts")
    files.add_argument(
        "--json", action="store_true", help="one JSON object on standard output for each file, or each second"
    )
    files.add_argument("--quiet", action="store_true", help="no progress bar and no summary")


def run(arguments: argparse.Namespace) -> ExitCode:
    """Run the command; the exit code of the worst file. Raises what concerns the whole run."""
    be_frugal()
    live = is_live(arguments)
    settings = settings_of(arguments, lookahead=0.0 if live else Settings().lookahead)
    if live:
        return run_live(arguments, settings)
    refuse_live_options(arguments)
    jobs = plan(arguments.arguments, Path(arguments.output) if arguments.output else None, WRITABLE)
    if arguments.report is not None and not arguments.report.absolute().parent.is_dir():
        raise OutputError(f"{arguments.report} cannot be written: its directory does not exist")
    done: list[FileReport] = []
    failed: list[FileFailure] = []
    with FileRun(settings) as run:
        if len(jobs) > 1 or settings.whitelist:
            run.start()  # what is wrong with the models or the whitelist is said once, not for each file
        for job in jobs:
            result = _attempt(job, run, arguments)
            if isinstance(result, FileReport):
                done.append(result)
            else:
                failed.append(result)
            _tell(result, job, arguments)
        choice = run.choice
    if arguments.report is not None:
        write_report(arguments.report, Report(choice, tuple(done), tuple(failed)))
    return ExitCode(max((failure.exit_code for failure in failed), default=ExitCode.DONE))


def _attempt(job: Job, run: FileRun, arguments: argparse.Namespace) -> FileReport | FileFailure:
    """Filter one file and complain when it fails."""
    try:
        with Bar(job.input.name, shown=not arguments.quiet) as bar:
            return run.filter(job.input, job.output, bar)
    except Exception as error:
        code, line = explain(error)
        named = any(str(path) in line for path in (job.input, job.output))
        complain(error, debug=arguments.debug, about="" if named else f"{job.input}: ")
        return FileFailure(job.input.name, line, int(code))


def settings_of(arguments: argparse.Namespace, *, lookahead: float) -> Settings:
    """Settings from the options. Raises SettingsError, also for an option that the method does not use.

    lookahead: seconds, where none are given.
    """
    default = Settings()
    given = {name: getattr(arguments, name) for name in ("k", "q", "transfer", "eyes", "strict")}
    preserve = arguments.preserve
    settings = Settings(
        method=arguments.method,
        preserve=default.preserve if preserve is None else attributes_of(preserve.split(",")),
        key_file=arguments.key_file,
        threshold=arguments.threshold,
        min_face=arguments.min_face,
        detector_interval=arguments.detector_interval,
        detector_deadline=arguments.detector_deadline,
        lookahead=lookahead if arguments.lookahead is None else arguments.lookahead,
        coast=arguments.coast,
        reentry=not arguments.no_reentry,
        regions=tuple(read_region(text) for text in arguments.region),
        whitelist=tuple(arguments.whitelist),
        whitelist_recogniser=arguments.whitelist_recogniser,
        whitelist_threshold=arguments.whitelist_threshold,
        tolerant=arguments.tolerant,
        codec=arguments.codec,
        crf=arguments.crf,
        preset=arguments.preset,
        audio=not arguments.no_audio,
        keep_metadata=arguments.keep_metadata,
        overwrite=arguments.overwrite,
        models=arguments.models,
        **{name: getattr(default, name) if value is None else value for name, value in given.items()},
    )
    unused = []
    if not settings.synthesises:
        given |= {"preserve": preserve, "key-file": arguments.key_file, "no-reentry": arguments.no_reentry or None}
        unused = [name for name, value in given.items() if value is not None]
    elif not settings.draws and given["q"] is not None:
        unused = ["q"]
    if unused:
        raise UsageError(f"--{unused[0]} means nothing to the method {settings.method}")
    return settings


def _tell(result: FileReport | FileFailure, job: Job, arguments: argparse.Namespace) -> None:
    if arguments.json:
        print(json.dumps(asdict(result), ensure_ascii=False), flush=True)
    elif isinstance(result, FileReport) and not arguments.quiet:
        people = "" if result.people is None else f" of {result.people} {'person' if result.people == 1 else 'people'}"
        rungs = ", ".join(f"{count} {name}" for name, count in result.rungs.items())
        shown = f", {result.shown} whitelisted faces NOT covered" if result.shown else ""
        print(
            f"{job.output}: {result.frames} frames, {result.faces} faces{people}{f' ({rungs})' if rungs else ''}"
            f"{shown}, {result.timings.frames_per_second:.1f} frames per second",
            flush=True,
        )

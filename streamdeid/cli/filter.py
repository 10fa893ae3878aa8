"""`streamdeid filter`: filter video files into de-identified files, or a camera into a filtered stream."""

from __future__ import annotations

import argparse
import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path

from streamdeid.cli.error_text import UsageError, check_stopped, complain, explain
from streamdeid.cli.file_runs import check_run, ended, warn_of_key
from streamdeid.cli.filter_archive import is_of_archive, run_archive
from streamdeid.cli.filter_live import is_live, run_live
from streamdeid.cli.inputs import Job, plan
from streamdeid.cli.live_options import refuse_live_options
from streamdeid.cli.progress import Bar, FilesBar, compile_beside
from streamdeid.cli.result_lines import tell, tell_failure
from streamdeid.core.process_usage import be_frugal
from streamdeid.core.settings_table import add_options, given, table
from streamdeid.errors import ExitCode
from streamdeid.report.redaction_report import FileFailure, FileReport, RunChoice
from streamdeid.review.doubts import doubts
from streamdeid.runs.batch import filter_files
from streamdeid.runs.files import FileRun
from streamdeid.runs.journal import NAME, Journal, settings_digest
from streamdeid.runs.parts import WRITABLE
from streamdeid.runs.profiles import PROFILES, profile_of
from streamdeid.runs.reviewed_file import Asked
from streamdeid.settings import ENCODING, FACES, FILES, WHITELIST, Settings
from streamdeid.video.live.settings import LIVE, LiveSettings

DESCRIPTION = """\
Replace every face in video files or in a live stream by a synthetic one (or cover it by a mask).

INPUT is a file, a directory (the videos in it) or a quoted pattern. With two arguments the second is OUTPUT: a file, or
a directory; with more, the last one is when it is a directory. Use -o where that is not what you mean. Without OUTPUT
each result lies beside its input as <stem>_deidentified.<ext>.

Files are filtered one after another, or several at a time (--workers); a bad one is reported and does not stop the
others. A run over a folder into another one that was stopped goes on where it was. The exit code is then the
highest of all files: 0 done, 1 an input could not be read, 2 wrong usage or settings, 3 an output could not be
written, 4 the filter failed closed. 130 and 143: stopped by Ctrl-C or SIGTERM, and the file at hand was not written.

Archives: inputs and the output can be addresses as s3://bucket/folder (extra `cluster`, docs/cluster.md); who may read
them is told by the environment. With --ray the machines of a cluster share the recordings; paths mean the same then on
all of them.

Live: `filter rtsp://camera/stream rtsp://server/path` goes on until it is stopped, and opens again what is lost. A
frame that cannot be filtered is withheld: the last filtered one is repeated for at most 2 seconds, then comes a
placeholder. What was recorded until a signal stays, playable."""


_HEADINGS = {
    FACES: "faces",
    WHITELIST: "people who are left as they are (their faces are NOT protected)",
    LIVE: "live streams (INPUT is an address, a camera's device, or a file with --realtime; OUTPUT is an rtsp:// "
    "address, - for standard output, NAME.m3u8, or a file; there is no sound)",
    ENCODING: "encoding",
    FILES: "files",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options: those of the settings' table, and those of this command only."""
    parser.add_argument(
        "arguments", nargs="+", metavar="INPUT [OUTPUT]", help="files, a directory or a pattern; a camera"
    )
    parser.add_argument("-o", "--output", help="file or directory for the result; all others are inputs")
    parser.add_argument(
        "--analysis", type=Path, metavar="FILE",
        help="keep what was found here, for a review, without pictures; one that is there saves the search for faces",
    )  # fmt: skip
    parser.add_argument(
        "--edits",
        type=Path,
        metavar="JSON",
        help="apply what a reviewer changed (`streamdeid review`); one file at a time",
    )
    parser.add_argument(
        "--workers",
        type=int,
        default=1,
        metavar="N",
        help="processes: filter so many files at a time, or segments of one file with --decisions whole-file",
    )
    parser.add_argument(
        "--profile",
        metavar="NAME",
        help="settings for a kind of machine; options beside it win. "
        + "; ".join(f"{name}: {one.text}" for name, one in PROFILES.items()),
    )
    parser.add_argument(
        "--ray",
        metavar="ADDRESS",
        help="filter on the machines of a Ray cluster: HOST:PORT of its head, or auto (extra `cluster`)",
    )
    parser.add_argument("--report", type=Path, metavar="JSON", help="write what was done, with hashes and counts")
    parser.add_argument(
        "--json", action="store_true", help="one JSON object on standard output for each file, or each second"
    )
    parser.add_argument("--quiet", action="store_true", help="no progress bar and no summary")
    add_options(parser, (Settings, LiveSettings), _HEADINGS)


def run(arguments: argparse.Namespace) -> ExitCode:
    """Run the command and return the exit code of the worst file. Raises errors that concern the whole run."""
    be_frugal()
    compile_beside(shown=not arguments.quiet)
    if is_of_archive(arguments):
        return run_archive(arguments, settings_of(arguments, lookahead=Settings().lookahead))
    live = is_live(arguments)
    settings = settings_of(arguments, lookahead=0.0 if live else Settings().lookahead)
    if live:
        return run_live(arguments, settings)
    refuse_live_options(arguments)
    jobs = plan(arguments.arguments, Path(arguments.output) if arguments.output else None, WRITABLE)
    if len(jobs) > 1 and (arguments.analysis is not None or arguments.edits is not None):
        raise UsageError("an analysis and edits belong to one file; filter the files one by one")
    if arguments.edits is not None and arguments.analysis is None:  # it lies beside the recording
        arguments.analysis = jobs[0].input.with_suffix(".analysis")
    folder = _journal_folder(jobs)
    check_run(arguments, settings, ((job.input, job.output) for job in jobs), None if folder is None else folder / NAME)
    results: dict[int, FileReport | FileFailure] = {}
    choice: RunChoice | None = None
    with contextlib.ExitStack() as safe:
        run = safe.enter_context(FileRun(settings))
        warn_of_key(settings)
        journal = _journal(jobs, run, safe)
        left = list(enumerate(jobs))
        for number, job in left if journal is not None else ():
            known = journal.done(job.input, job.output) if journal is not None else None
            if known is not None:
                results[number] = known
                tell(known, str(job.output), arguments, " (done before, and as it was)")
        left = [(number, job) for number, job in left if number not in results]
        if journal is not None:
            journal.begin(job.output for _, job in left)
        filtering = _beside if arguments.workers > 1 and len(left) > 1 else _one_by_one
        for number, result, chosen in filtering(left, run, arguments):
            results[number], choice = result, choice or chosen
            if isinstance(result, FileReport) and journal is not None:
                journal.add(result)
            tell(result, str(jobs[number].output), arguments)
    return ended(results, choice, settings, arguments, run.key)


_Results = Iterator[tuple[int, FileReport | FileFailure, RunChoice | None]]
"""Number of a file, its report or failure, and the choice of its run."""


def _journal(jobs: Sequence[Job], run: FileRun, safe: contextlib.ExitStack) -> Journal | None:
    """The journal in the folder of the results; None for a run that keeps none (`_journal_folder`)."""
    folder = _journal_folder(jobs)
    if folder is None:
        return None
    safe.enter_context(Journal.lock(folder))
    return Journal(folder, settings_digest(run.session()))


def _journal_folder(jobs: Sequence[Job]) -> Path | None:
    """The folder of the results, if it has several results and none of the recordings; None for any other run."""
    folders = {job.output.parent.resolve() for job in jobs}
    if len(jobs) < 2 or len(folders) != 1 or folders & {job.input.parent.resolve() for job in jobs}:
        return None
    return jobs[0].output.parent


def _one_by_one(jobs: Sequence[tuple[int, Job]], run: FileRun, arguments: argparse.Namespace) -> _Results:
    """Filter files one after another in this process, which keeps the models and the detector."""
    if not jobs:
        return
    if len(jobs) > 1 or run.settings.whitelist:
        run.start()  # raises errors of the models or the whitelist once, not for each file
    for number, job in jobs:
        result = _attempt(job, run, arguments)
        yield number, result, run.choice


def _beside(jobs: Sequence[tuple[int, Job]], run: FileRun, arguments: argparse.Namespace) -> _Results:
    """Filter files in parallel, each in a process of its own."""
    run.session()  # raises errors of the session once, not for each file
    files = [(job.input.absolute(), job.output.absolute()) for _, job in jobs]
    with FilesBar(len(files), shown=not arguments.quiet) as bar:
        for one in filter_files(files, run.settings, arguments.workers, run.key):
            number, job = jobs[one.number]
            if isinstance(one.result, FileFailure):
                tell_failure(one.result, str(job.input), str(job.output))
            bar(one.result.frames if isinstance(one.result, FileReport) else 0)
            yield number, one.result, one.choice


def _attempt(job: Job, run: FileRun, arguments: argparse.Namespace) -> FileReport | FileFailure:
    """Filter one file, and print the error if it fails."""
    try:
        with Bar(job.input.name, shown=not arguments.quiet) as bar:
            return run.filter(job.input, job.output, bar, _asked(arguments, job), arguments.workers)
    except Exception as error:
        check_stopped()  # the error may come from a signal's exception that other code replaced
        code, line = explain(error)
        named = any(str(path) in line for path in (job.input, job.output))
        complain(error, debug=arguments.debug, about="" if named else f"{job.input}: ")
        return FileFailure(job.input.name, line, int(code))


def _asked(arguments: argparse.Namespace, job: Job) -> Asked:
    """The analysis and the edits that the options ask for, and the function that names a recording's doubts."""
    return Asked(arguments.analysis, arguments.edits, lambda known: [one.name for one in doubts(known)])


def settings_of(arguments: argparse.Namespace, *, lookahead: float) -> Settings:
    """Settings from the options. Raises SettingsError, also for an option that the method does not use.

    lookahead: seconds; the default where neither options nor profile give a value.
    """
    chosen = given(arguments, Settings)
    settings = Settings(**{"lookahead": lookahead, **profile_of(arguments.profile).settings, **chosen})
    unused = settings.unused(chosen)
    if unused:
        raise UsageError(f"{table(Settings)[unused[0]].flag} means nothing to the method {settings.method}")
    return settings

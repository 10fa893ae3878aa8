"""`streamdeid filter` for recordings or results at addresses, or with a Ray cluster that filters them."""

from __future__ import annotations

import argparse
import contextlib
from collections.abc import Generator, Sequence
from dataclasses import replace
from pathlib import Path

from streamdeid.cli.error_text import UsageError
from streamdeid.cli.file_runs import check_run, ended, warn_of_key
from streamdeid.cli.inputs import files_of, is_video_name, make_directory, result_name
from streamdeid.cli.live_options import refuse_live_options
from streamdeid.cli.progress import FilesBar
from streamdeid.cli.result_lines import tell, tell_failure
from streamdeid.core.addresses import is_address, shown
from streamdeid.core.system_reason import system_reason
from streamdeid.errors import ExitCode, InputError, SettingsError
from streamdeid.report.redaction_report import FileFailure, FileReport, RunChoice
from streamdeid.runs.archive import (
    Stored,
    check_output,
    folder_of,
    is_archive,
    join,
    listed,
    name_of,
    place_of,
    size_of,
)
from streamdeid.runs.archive_journal import ArchiveJournal
from streamdeid.runs.batch import Result
from streamdeid.runs.fetched import ArchiveTask, filter_fetched
from streamdeid.runs.journal import NAME, Journal, settings_digest
from streamdeid.runs.parts import WRITABLE
from streamdeid.runs.session import session_without_register
from streamdeid.runs.shipped import Shipped, ship
from streamdeid.settings import Settings


def is_of_archive(arguments: argparse.Namespace) -> bool:
    """Whether a cluster is to filter, or a recording or a result is at an address that names files."""
    words = [*arguments.arguments, *([] if arguments.output is None else [arguments.output])]
    return arguments.ray is not None or any(map(is_archive, words))


def run_archive(arguments: argparse.Namespace, settings: Settings) -> ExitCode:
    """Filter the files and return the exit code of the worst one. Raises errors that concern the whole run."""
    refuse_live_options(arguments)
    if arguments.analysis is not None or arguments.edits is not None:
        raise UsageError("an analysis and edits are for recordings of this machine, without --ray")
    if arguments.ray is not None and arguments.workers != 1:
        raise UsageError("--workers is for this machine; a cluster (--ray) works with all it has")
    tasks = planned(arguments.arguments, arguments.output)
    folder = _journal_folder(tasks)
    here = None if folder is None or is_address(folder) else Path(folder) / NAME
    check_run(arguments, settings, ((_local(task.input), _local(task.output)) for task in tasks), here)
    shipped = ship(settings)
    warn_of_key(settings)
    results: dict[int, FileReport | FileFailure] = {}
    choice: RunChoice | None = None
    with contextlib.ExitStack() as safe:
        journal = _journal(tasks, shipped, safe)
        if journal is not None:
            tasks = _begun(tasks, journal)
        bar = safe.enter_context(FilesBar(len(tasks), shown=not arguments.quiet))
        for one in safe.enter_context(contextlib.closing(_filtered(tasks, shipped, arguments))):
            task = tasks[one.number]
            results[one.number], choice = one.result, choice or one.choice
            if isinstance(one.result, FileFailure):
                tell_failure(one.result, shown(task.input), shown(task.output))
            elif journal is not None and not one.before:
                journal.add(one.result)
            bar(one.result.frames if isinstance(one.result, FileReport) else 0)
            again = ", at the second attempt" if one.attempts > 1 else ""
            more = " (done before, and as it was)" if one.before else again
            tell(one.result, shown(task.output), arguments, more)
    return ended(results, choice, settings, arguments, shipped.key)


def planned(arguments: Sequence[str], output: str | None) -> list[ArchiveTask]:
    """The tasks that INPUT and OUTPUT arguments stand for, by the rules of `inputs.plan`.

    A folder at an address stands for the videos directly in it; an address cannot be a pattern. Raises InputError
    when nothing is found, SettingsError for results that would overwrite each other or their recording, OutputError
    when a directory cannot be made.
    """
    inputs = list(arguments)
    if output is None and len(inputs) > 1 and (len(inputs) == 2 or is_address(inputs[-1]) or Path(inputs[-1]).is_dir()):
        output = inputs.pop()
    found: list[Stored] = []
    several = len(inputs) > 1
    for argument in inputs:
        files, folder = _found(argument)
        found += files
        several = several or folder
    target = None if output is None else place_of(output)
    into = target is not None and (several or _is_folder(output or "", target))
    tasks = [ArchiveTask(one.address, _result(one.address, target, into), one.bytes) for one in found]
    taken: dict[str, str] = {}
    for task in tasks:
        if task.output == task.input or _same(task.input, task.output):
            raise SettingsError(f"{shown(task.output)} is the input itself; choose another output")
        other = taken.setdefault(task.output, task.input)
        if other != task.input:
            raise SettingsError(f"the results of {shown(other)} and {shown(task.input)} would have the same name")
    check_output(tasks[0].output)
    if into and target is not None and not is_address(target):
        make_directory(Path(target))
    return tasks


def _found(argument: str) -> tuple[list[Stored], bool]:
    """The files that an argument stands for, and whether it is a folder or a pattern instead of one file's name."""
    if not is_address(argument):
        paths = files_of(argument)
        try:
            return [Stored(place_of(str(path)), path.stat().st_size) for path in paths], paths != [Path(argument)]
        except OSError as error:
            raise InputError(f"{argument} cannot be read: {system_reason(error)}") from error
    place = place_of(argument)
    files = listed(place, is_video_name)
    if files is None:
        size = size_of(place)
        if size is None:
            raise InputError(f"{shown(place)}: there is nothing")
        return [Stored(place, size)], False
    if not files:
        raise InputError(f"{shown(place)} holds no videos")
    return files, True


def _is_folder(word: str, place: str) -> bool:
    if not is_address(place):
        return Path(place).is_dir()
    return word.endswith("/") or listed(place, lambda name: False) is not None


def _result(input: str, target: str | None, into: bool) -> str:
    name = result_name(name_of(input), WRITABLE)
    if target is None:
        return join(folder_of(input), name)
    return join(target, name) if into else target


def _same(input: str, output: str) -> bool:
    """Whether two places on this machine are the same file, also under other names or through links."""
    try:
        return not is_address(input) and not is_address(output) and Path(input).samefile(output)
    except OSError:  # one of them is not there
        return False


def _filtered(
    tasks: Sequence[ArchiveTask], shipped: Shipped, arguments: argparse.Namespace
) -> Generator[Result, None, None]:
    if arguments.ray is None:
        return filter_fetched(tasks, shipped, arguments.workers)
    from streamdeid.runs.cluster import filter_on_cluster  # the only part that needs Ray

    return filter_on_cluster(tasks, shipped, arguments.ray)


def _begun(tasks: Sequence[ArchiveTask], journal: Journal | ArchiveJournal) -> list[ArchiveTask]:
    """Note in the journal that the tasks begin, and return them with what it knows about each."""
    names = [name_of(task.output) for task in tasks]
    if isinstance(journal, ArchiveJournal):
        made = journal.begin(names)
    else:
        journal.begin(Path(task.output) for task in tasks)
        made = set()  # this journal has removed what a stopped run left
    return [
        replace(task, known=journal.known(name), replaces=name in made) for task, name in zip(tasks, names, strict=True)
    ]


def _local(place: str) -> Path | None:
    """A place as a file of this machine; None for an address."""
    return None if is_address(place) else Path(place)


def _journal_folder(tasks: Sequence[ArchiveTask]) -> str | None:
    """The folder of the results, if it has several results and none of the recordings; None for any other run."""
    folders = {folder_of(task.output) for task in tasks}
    if len(tasks) < 2 or len(folders) != 1 or folders & {folder_of(task.input) for task in tasks}:
        return None
    return folders.pop()


def _journal(
    tasks: Sequence[ArchiveTask], shipped: Shipped, safe: contextlib.ExitStack
) -> Journal | ArchiveJournal | None:
    """The journal in the folder of the results; None for a run that keeps none (`_journal_folder`)."""
    folder = _journal_folder(tasks)
    if folder is None:
        return None
    digest = settings_digest(session_without_register(shipped.settings, shipped.key))
    if is_address(folder):
        return ArchiveJournal(folder, digest)
    safe.enter_context(Journal.lock(Path(folder)))
    return Journal(Path(folder), digest)

"""Progress bars on stderr."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, TextColumn, TimeRemainingColumn

from streamdeid.cli.error_text import check_stopped
from streamdeid.core.shown_text import plain, say
from streamdeid.runs import compiled_beside


def compile_beside(*, shown: bool) -> None:
    """Allow kernels that were never compiled on this machine to be compiled in parallel processes.

    shown: whether this is reported on stderr."""
    compiled_beside.allow(lambda text: say(f"streamdeid: {text}", to=sys.stderr) if shown else None)


class Bar:
    """Shows the rate, the time left and the faces so far of one file, if `shown` and if stderr is a terminal.

    Use as a context manager.
    """

    def __init__(self, label: str, *, shown: bool) -> None:
        self._progress = _display(
            shown,
            BarColumn(),
            TextColumn("{task.completed:.0f}/{task.fields[of]} frames"),
            TextColumn("{task.fields[rate]}"),
            TimeRemainingColumn(elapsed_when_finished=True),
            TextColumn("{task.fields[faces]} faces"),
        )
        self._task = self._progress.add_task(plain(label), total=None, of="?", rate="", faces=0)

    def __enter__(self) -> Bar:
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._progress.stop()

    def __call__(self, done: int, total: int | None, faces: int) -> None:
        """Show that `done` frames are done and `faces` are protected. total: number of frames, None if not known.

        Raises Stopped when the run is to end."""
        check_stopped()
        if self._progress.disable:
            return  # computing the speed, a mean over many frames, would be wasted
        speed = self._progress.tasks[0].speed
        rate = f"{speed:.1f} per s" if speed else ""
        self._progress.update(self._task, completed=done, total=total, of=total or "?", faces=faces, rate=rate)


class FilesBar:
    """Shows how many files of a run are done, and their frames, if `shown` and if stderr is a terminal.

    Use as a context manager; call it with the number of frames of each file that is done."""

    def __init__(self, files: int, *, shown: bool) -> None:
        self._progress = _display(
            shown,
            BarColumn(),
            TextColumn("{task.completed:.0f}/{task.total:.0f} files"),
            TextColumn("{task.fields[frames]} frames"),
            TimeRemainingColumn(elapsed_when_finished=True),
        )
        self._frames = 0
        self._task = self._progress.add_task("filtering", total=files, frames=0)

    def __enter__(self) -> FilesBar:
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._progress.stop()

    def __call__(self, frames: int) -> None:
        """Show that one more file, with `frames` frames, is done."""
        self._frames += frames
        self._progress.update(self._task, advance=1, frames=self._frames)


class ShareBar:
    """Shows the progress of a long measurement and its present step, if `shown` and if stderr is a terminal.

    Use as a context manager; call it with a share from 0 to 1 and a text."""

    def __init__(self, label: str, *, shown: bool) -> None:
        self._progress = _display(
            shown,
            BarColumn(),
            TextColumn("{task.percentage:.0f} %"),
            TimeRemainingColumn(elapsed_when_finished=True),
            TextColumn("{task.fields[now]}", markup=False),
        )
        self._task = self._progress.add_task(label, total=1.0, now="")

    def __enter__(self) -> ShareBar:
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._progress.stop()

    def __call__(self, share: float, text: str) -> None:
        """Show that `share` of the work is done, and that `text` is being done."""
        self._progress.update(self._task, completed=min(max(share, 0.0), 1.0), now=plain(text))

    def part(self, start: float, end: float) -> Callable[[float, str], None]:
        """A progress function for a part of the work, from share `start` to share `end`."""
        return lambda share, text: self(start + (end - start) * share, text)


def _display(shown: bool, *columns: ProgressColumn) -> Progress:
    """A bar with these columns after its label; it is disabled unless `shown` and stderr is a terminal."""
    dark = not (shown and sys.stderr.isatty())
    label = TextColumn("{task.description}", markup=False)  # a file's name may have brackets
    return Progress(label, *columns, console=Console(stderr=True), transient=True, disable=dark)

"""`streamdeid review`: open a page on which a reviewer looks at the redactions of a recording and corrects them."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import html
import os
import subprocess
import sys
import tempfile
import webbrowser
from collections.abc import Iterator
from pathlib import Path

from streamdeid.analysis.edits_lock import lock_edits
from streamdeid.cli.inputs import plan
from streamdeid.core.child_process import child_command, child_environment
from streamdeid.core.frames import MOST_PIXELS
from streamdeid.core.named_files import ANALYSIS, EDITS, INPUT, KEY, LOCK, OUTPUT, Named, check_named, lock_of
from streamdeid.core.shown_text import say
from streamdeid.errors import ExitCode, InputError, OutputError, SettingsError
from streamdeid.review.app import Open
from streamdeid.review.opening import Files, open_review
from streamdeid.review.serving import serve_desk
from streamdeid.runs.parts import WRITABLE
from streamdeid.settings import Settings

DESCRIPTION = """\
Open a page on which what was redacted is looked at and mended: people who are to stay visible, faces that were missed,
redactions that are none. The most doubtful places come first. Only this machine can open the page, and only with the
address that is printed.

RECORDING is filtered first where its output or its analysis is not there yet. Every edit is written to
<stem>.edits.json at once; `streamdeid filter RECORDING --edits <stem>.edits.json --overwrite` makes the
video."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("recording", type=Path, metavar="RECORDING", help="the video as it was recorded")
    parser.add_argument(
        "analysis", type=Path, nargs="?", metavar="ANALYSIS", help="of `filter --analysis` (<stem>.analysis beside it)"
    )
    parser.add_argument("-o", "--output", type=Path, help="the filtered video (<stem>_deidentified beside it)")
    parser.add_argument("--edits", type=Path, metavar="JSON", help="where edits are kept (<stem>.edits.json beside it)")
    parser.add_argument(
        "--key-file", type=Path, metavar="KEY",
        help="for a recording that is filtered first: with the same key only what edits touch is rendered again",
    )  # fmt: skip
    parser.add_argument(
        "--most-pixels", type=float, default=MOST_PIXELS, metavar="N",
        help="as for `filter`: millions of pixels that a picture may have (%(default)g)",
    )  # fmt: skip
    parser.add_argument("--reviewer", default="", metavar="NAME", help="keep who edited, and when, with the edits")
    parser.add_argument("--port", type=int, default=0, help="of the page on this machine (any that is free)")
    parser.add_argument("--no-browser", action="store_true", help="print the page's address and open no browser")


def run(arguments: argparse.Namespace) -> ExitCode:
    """Run the command until the desk is closed. Raises InputError, SettingsError and OutputError."""
    if not 0 <= arguments.port <= 65535:
        raise SettingsError(f"a port is a number up to 65535, not {arguments.port}")
    Settings(most_pixels=arguments.most_pixels)  # raises SettingsError for a bad value
    files = _files(arguments)
    if not os.path.isfile(files.recording):
        raise InputError(f"{files.recording} cannot be read: it is no file")
    named = [Named(INPUT, files.recording), Named(OUTPUT, files.output), Named(ANALYSIS, files.analysis)]
    named += [Named(EDITS, files.edits), Named(LOCK, lock_of(files.edits))]
    named += [] if arguments.key_file is None else [Named(KEY, arguments.key_file)]
    check_named("review", named)
    with lock_edits(files.edits):
        if os.path.exists(files.output) and not os.path.isfile(files.output):
            raise InputError(f"{files.output} cannot be read: it is no file")
        if not (os.path.lexists(files.analysis) and os.path.exists(files.output)):
            code = _filter(files, arguments.key_file, arguments.most_pixels)
            if code != ExitCode.DONE:
                return code
        with contextlib.ExitStack() as safe:

            def ready(address: str) -> None:
                say(f"review of {files.recording.name}: {address}")
                say("close it with Finish, or Ctrl-C")
                if not arguments.no_browser:
                    safe.enter_context(_browser(address))

            def read() -> Open:
                return open_review(files, arguments.reviewer, arguments.most_pixels)

            number = asyncio.run(serve_desk(arguments.port, read, ready))
    return ExitCode(128 + number if number else ExitCode.DONE)


def _files(arguments: argparse.Namespace) -> Files:
    recording: Path = arguments.recording
    (job,) = plan([str(recording)], arguments.output, WRITABLE) if not recording.is_dir() else (None,)
    if job is None:
        raise InputError(f"{recording} is a directory: recordings are reviewed one by one")
    return Files(
        recording,
        job.output,
        arguments.analysis or recording.with_suffix(".analysis"),
        arguments.edits or recording.with_suffix(".edits.json"),
    )


def _filter(files: Files, key: Path | None, most_pixels: float) -> ExitCode:
    """Filter the recording in another process, so that its memory is free afterwards."""
    if os.path.exists(files.output):
        raise OutputError(
            f"{files.output} has no analysis at {files.analysis}: filter it again with --analysis and --overwrite, "
            f"or name another --output"
        )
    words = [str(files.recording.absolute()), "-o", str(files.output.absolute())]
    words += ["--analysis", str(files.analysis.absolute()), "--most-pixels", str(most_pixels)]
    words += [] if key is None else ["--key-file", str(key.absolute())]
    program = child_command("streamdeid.cli.main:run", "filter", *words)
    return ExitCode(subprocess.run(program, env=child_environment(), check=False).returncode)


@contextlib.contextmanager
def _browser(address: str) -> Iterator[None]:
    """Open the address in the user's browser, if there is a graphical one, through a file that is removed afterwards.

    Only this user can read the file. Other users of the machine see a browser's arguments, and an address there would
    give them the token."""
    windows = sys.platform in ("darwin", "win32") or os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    with tempfile.TemporaryDirectory(prefix="streamdeid-") as place:
        page = Path(place) / "review.html"
        target = html.escape(address, quote=True)
        page.write_text(
            f'<!doctype html><meta http-equiv="refresh" content="0;url={target}"><a href="{target}">open</a>'
        )
        page.chmod(0o600)
        if windows:
            with contextlib.suppress(webbrowser.Error):
                webbrowser.open(page.as_uri())
        yield

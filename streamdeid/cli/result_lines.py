"""The lines that `streamdeid filter` prints about each file."""

from __future__ import annotations

import argparse
import sys
from dataclasses import asdict

from streamdeid.core.shown_text import say, say_json
from streamdeid.report.redaction_report import FileFailure, FileReport, left_visible


def tell(result: FileReport | FileFailure, output: str, arguments: argparse.Namespace, more: str = "") -> None:
    """Print the result of a file in the form that the options ask for. output: where the result is. more: text that is
    added to the line. A failure is printed with --json only."""
    if isinstance(result, FileReport) and (arguments.json or arguments.quiet):
        for line in left_visible([result]):  # this is always printed
            say(line, to=sys.stderr)
    if arguments.json:
        say_json(asdict(result))
    elif isinstance(result, FileReport) and not arguments.quiet:
        people = "" if result.people is None else f" of {result.people} {'person' if result.people == 1 else 'people'}"
        levels = ", ".join(f"{count} {name}" for name, count in result.levels.items())
        by_hand = left_visible([result])
        shown = f", {result.shown} {_whose(result)}faces NOT covered" if result.shown else ""
        for line in by_hand:
            say(line)
        if result.review is not None and result.review.analysis:
            shown += f"; {result.review.analysis}"
        if result.one_pass:
            shown += f"; decided by look-ahead in one pass, {result.one_pass}"
        without = [one for one in result.dropped_streams if one.startswith(("audio", "subtitle"))]
        if without:
            shown += f"; without {', '.join(without)}"
        say(
            f"{output}: {result.frames} frames, {result.faces} faces{people}{f' ({levels})' if levels else ''}"
            f"{shown}, {result.timings.frames_per_second:.1f} frames per second{more}"
        )


def tell_failure(failure: FileFailure, input: str, output: str) -> None:
    """Print on stderr why a file failed, with its name once."""
    named = input in failure.error or output in failure.error
    say(f"streamdeid: {'' if named else f'{input}: '}{failure.error}", to=sys.stderr)


def _whose(result: FileReport) -> str:
    edited = result.review is not None and result.review.edits is not None and result.review.edits.visible_frames
    return "" if edited else "whitelisted "

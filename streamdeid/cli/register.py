"""`streamdeid register`: list the people of a register, by number and times only, and take people out of it."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path

from streamdeid.core.named_files import KEY, LOCK, REGISTER, Named, check_named, lock_of
from streamdeid.core.shown_text import say, say_json
from streamdeid.errors import ExitCode, SettingsError
from streamdeid.identity.registered import PeopleRegister, RegisteredPerson, unexpired, without
from streamdeid.runs.register_file import RegisterFile, private_key

DESCRIPTION = """\
A register (`streamdeid filter --register FILE`) remembers people: what they are recognised by, the face that they are
shown with, and when they were first and last seen. That is biometric data.

  list    the number of each, and when he was first and last seen; no pictures and no vectors
  forget  take people out: who comes again is somebody new, with another face
  expire  take out who was not seen for so many days; every run with the register does that, too

Runs and cameras that use the register notice when they next ask it. What was taken out stands in no file any more but
in copies that others made of it (backups). Exit codes: 0 done, 1 the file cannot be read or was changed, 2 wrong usage,
another key or a number that is not there, 3 it cannot be written."""

_MOST_DAYS = 36500.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the actions and their options."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    for name, text in (
        ("list", "who is in it, by number and time"),
        ("forget", "take people out"),
        ("expire", "take out who was not seen for long"),
    ):
        action = actions.add_parser(name, help=text)
        action.error = lambda message: parser.error(message)  # type: ignore[method-assign]
        if name == "forget":
            action.add_argument(
                "arguments",
                nargs="+",
                metavar="FILE N",
                help="the register, and numbers of people, as `list` tells them",
            )
            action.add_argument("--all", action="store_true", help="everybody")
        else:
            action.add_argument("arguments", nargs=1, metavar="FILE", help="the register")
        if name == "expire":
            action.add_argument(
                "--days", type=float, metavar="DAYS", help="above 0 (those of the run that wrote the register last)"
            )
        action.add_argument(
            "--key-file", type=Path, required=True, metavar="K", help="the key that it is encrypted with"
        )
        action.add_argument("--json", action="store_true", help="one JSON object instead of text")


@dataclass(frozen=True)
class _Outcome:
    people: list[RegisteredPerson]
    """The people who are left in the register."""
    gone: list[int]
    days: float


def run(arguments: argparse.Namespace) -> ExitCode:
    """Run the command. Raises InputError, SettingsError and OutputError."""
    path, *more = arguments.arguments
    if more and arguments.action != "forget":
        raise SettingsError(f"unrecognized arguments: {' '.join(more)} (see --help)")
    check_named(
        "register",
        [Named(REGISTER, Path(path)), Named(LOCK, lock_of(Path(path))), Named(KEY, arguments.key_file)],
    )
    file = RegisterFile(Path(path), private_key(arguments.key_file))
    if arguments.action == "list":
        register = file.read()
        _tell(arguments, _Outcome(list(register.people.values()), [], register.days))
        return ExitCode.DONE
    change = (
        _forgetting(path, more, everybody=arguments.all) if arguments.action == "forget" else _expiring(arguments.days)
    )
    file.read()  # raises for a bad register before a lock file is made beside it
    with file.opened() as (before, write):
        after = change(before)
        gone = sorted(before.people.keys() - after.people.keys())
        if gone:
            write(after)
    _tell(arguments, _Outcome(list(after.people.values()), gone, after.days))
    return ExitCode.DONE


def _forgetting(path: str, words: list[str], *, everybody: bool) -> Callable[[PeopleRegister], PeopleRegister]:
    try:
        numbers = {int(word) for word in words}
    except ValueError:
        raise SettingsError("people are told by number: streamdeid register forget FILE N ...") from None
    if everybody == bool(numbers):
        raise SettingsError("say whom to forget: numbers, or --all")

    def forget(register: PeopleRegister) -> PeopleRegister:
        missing = sorted(numbers - register.people.keys())
        if missing:
            raise SettingsError(f"{path} has nobody of number {missing[0]}; nobody was forgotten")
        return without(register, set(register.people) if everybody else numbers)

    return forget


def _expiring(days: float | None) -> Callable[[PeopleRegister], PeopleRegister]:
    if days is not None and not 0 < days <= _MOST_DAYS:
        raise SettingsError(f"days must be above 0 and at most {_MOST_DAYS:g}, not {days:g}")
    return lambda register: unexpired(register, int(time.time()), register.days if days is None else days)


def _tell(arguments: argparse.Namespace, outcome: _Outcome) -> None:
    people = sorted(outcome.people, key=lambda one: one.number)
    if arguments.json:
        rows = [{"number": one.number, "first_seen": _time(one.first), "last_seen": _time(one.last)} for one in people]
        say_json({"people": rows, "forgotten": outcome.gone, "days": outcome.days})
        return
    if arguments.action == "list":
        say(f"{'number':>6}  {'first seen (UTC)':<19}  {'last seen (UTC)':<19}")
        for one in people:
            say(f"{one.number:>6}  {_time(one.first):<19}  {_time(one.last):<19}")
        say(f"{_many(len(people))}, forgotten {outcome.days:g} days after they were last seen")
        return
    say(f"{_many(len(outcome.gone))} forgotten, {len(people)} left")


def _many(count: int) -> str:
    return f"{count} {'person' if count == 1 else 'people'}"


def _time(seconds: int) -> str:
    try:
        return datetime.fromtimestamp(seconds, timezone.utc).strftime("%Y-%m-%d %H:%M:%S")
    except (OverflowError, ValueError, OSError):
        return str(seconds)

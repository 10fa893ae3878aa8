"""The exception tree.

::

    StreamdeidError
    ├── InputError        exit 1   an input could not be read or was damaged
    ├── SettingsError     exit 2   wrong usage or settings
    │   └── ModelError    exit 2   a model file is missing, damaged or tampered with
    ├── OutputError       exit 3   an output could not be written
    └── FailedClosed      exit 4   the filter was in doubt and withheld the frame

A failed fit is not an error: it is a value (`aam.fit.Fit.converged`). Where something else ends a run, a signal or an
unexpected error, `cli.error_text.explain` gives the exit code.
"""

from __future__ import annotations

import enum


class ExitCode(enum.IntEnum):
    """Exit codes of the command line."""

    DONE = 0
    INPUT = 1
    SETTINGS = 2
    OUTPUT = 3
    FAILED_CLOSED = 4
    INTERRUPTED = 130
    TERMINATED = 143


class StreamdeidError(Exception):
    """Base of every error that streamdeid raises on purpose; the message is one line for the user."""

    exit_code: ExitCode = ExitCode.FAILED_CLOSED


class InputError(StreamdeidError):
    """An input could not be read or was damaged."""

    exit_code = ExitCode.INPUT


class SettingsError(StreamdeidError):
    """The usage or the settings are wrong."""

    exit_code = ExitCode.SETTINGS


class ModelError(SettingsError):
    """A model file is missing, damaged or tampered with."""


class OutputError(StreamdeidError):
    """An output could not be written."""

    exit_code = ExitCode.OUTPUT


class FailedClosed(StreamdeidError):
    """The filter was in doubt and withheld the frame."""

    exit_code = ExitCode.FAILED_CLOSED

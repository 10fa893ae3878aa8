"""Why the operating system refused, in words that end a message, as in "clip.mp4 cannot be read: permission denied"."""

from __future__ import annotations


def system_reason(error: BaseException, otherwise: str | None = None, *, as_told: bool = False) -> str:
    """The operating system's description of an error, in lower case. It never raises.

    otherwise: what is said of an error that has no such description; None: the error's own text. as_told: keep capital
    letters, of the error's own text too; it may hold a name of a file.
    """
    text = str(getattr(error, "strerror", None) or otherwise or error)
    return text if as_told else text.lower()

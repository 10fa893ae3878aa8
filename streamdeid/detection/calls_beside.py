"""Answers calls one after another in a thread of its own, which holds no reference to the caller."""

from __future__ import annotations

from collections.abc import Callable
from queue import SimpleQueue

Answer = tuple[object, BaseException | None]
"""What a call returned, or what it raised."""
Asked = SimpleQueue[Callable[[], object] | None]


def serve(asked: Asked, told: SimpleQueue[Answer]) -> None:
    """Answer calls until None is asked. Holds no reference to the object that asks, so that it can be collected."""
    while (call := asked.get()) is not None:
        try:
            answer: Answer = call(), None
        except BaseException as error:  # raised again in the caller's thread
            answer = None, error
        del call  # otherwise the frame in it would live until the next call
        told.put(answer)
        del answer

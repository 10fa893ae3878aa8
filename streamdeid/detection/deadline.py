"""Runs a detector in a thread of its own, with a deadline: a detector that hangs ends the run instead of blocking it.

All calls are made in the same thread, because a detector may remember its last picture, and some libraries want their
calls from one thread. The thread is a daemon: a process does not wait for it at its end.
"""

from __future__ import annotations

import contextlib
import itertools
import threading
import time
import weakref
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import TypeVar

from streamdeid.core.arrays import Box
from streamdeid.core.camera_motion import CameraMotion
from streamdeid.core.faces import Face
from streamdeid.core.frames import Frame
from streamdeid.core.process_usage import give_back_memory
from streamdeid.core.protocols import (
    Detector,
    FollowsCamera,
    LooksAgain,
    RemembersPictures,
    SearchesInTurn,
    SearchesLast,
)
from streamdeid.detection.calls_beside import Answer, Asked, serve
from streamdeid.errors import FailedClosed

MOST_FACES = 1000
"""More faces than this in one frame are an error. The tracker needs a second for so many faces, and a quarter of a
minute for ten thousand."""
_LOOK = 0.25
"""Seconds between looks at the clock while the caller waits for an answer. One look counts at most twice as much: time
in which the whole process did not run (Ctrl-Z, a paused container) does not count against the detector. From the second
look on (with a deadline of two looks or less: from the first), neither does time in which its thread waited for a
processor on a busy machine."""
_CLOSING = 3.0
"""Seconds that a detector may take to stop."""

_T = TypeVar("_T")


class TimedDetector:
    """A `protocols.Detector` around another one.

    deadline: seconds that a call may take, while this process runs. stop: called by `close`, in the same thread, to end
    the inner detector. A call that takes longer raises FailedClosed and so does every later call, because the inner
    detector may still be at work; start another one. Then only the thread keeps the inner detector, and releases it,
    after `stop`, as soon as the call comes back. Whatever the inner detector raises is raised here. For a call that
    `begin` started, the deadline counts from the time when its answer is asked for. Not for several threads at once.
    """

    def __init__(self, detect: Detector, deadline: float, stop: Callable[[], None] | None = None) -> None:
        self.hung = False
        """True when a call did not come back in time."""
        self._inner: Detector | None = detect
        """None when it hung."""
        self._deadline, self._stop = deadline, stop
        self._asked: Asked = SimpleQueue()
        self._told: SimpleQueue[Answer] = SimpleQueue()
        self._usable = True
        self._begun: Frame | None = None
        """The frame that the detector began with, until its answer or something else is asked for."""
        arguments = self._asked, self._told
        self._thread = threading.Thread(target=serve, args=arguments, name="detector", daemon=True)
        self._thread.start()
        self._finish = weakref.finalize(self, self._asked.put, None)

    def __call__(self, frame: Frame, /) -> Sequence[Face]:
        """The faces that the detector found, at most one more than `MOST_FACES`. Raises FailedClosed, and whatever the
        detector raises."""
        if self._begun is frame:
            self._begun = None
            return self._answered(frame)  # type: ignore[return-value]  # `begin` asked for it
        return self._ask(frame, lambda inner: partial(_found, inner, frame))

    def begin(self, frame: Frame) -> None:
        """Let the detector start on a frame while the caller does something else. The caller then calls this object
        with the same frame; errors are raised in that call."""
        self._let_go()
        if self._usable and self._inner is not None:
            self._put(self._inner, lambda inner: partial(_found, inner, frame))
            self._begun = frame

    def look_again(self, frame: Frame, track: int, box: Box, others: Sequence[Box], /) -> Face | None:
        """The answer of a detector that can look again at a place; for any other detector: there may be a face. Raises
        as a call does."""
        if not isinstance(self._inner, LooksAgain):
            return Face(box, 0.0, evidence=0.0)
        asked = track, box, others
        return self._ask(frame, lambda inner: partial(_again, inner, frame, *asked))

    def _ask(self, frame: Frame, asked: Callable[[Detector], Callable[[], _T]]) -> _T:
        """The inner detector's answer to a call about a frame."""
        self._let_go()
        if not self._usable or self._inner is None:
            reason = "hung before" if self.hung else "was stopped"
            raise FailedClosed(f"the detector {reason}; frame {frame.index} is withheld")
        self._put(self._inner, asked)
        return self._answered(frame)  # type: ignore[return-value]  # what was asked made it

    def _put(self, inner: Detector, asked: Callable[[Detector], Callable[[], object]]) -> None:
        self._usable = False  # until its answer is here: a signal may end the wait
        self._asked.put(asked(inner))  # no variable here: an error's traceback would hold it

    def _let_go(self) -> None:
        """Wait for the call that was begun, if there is one, and drop its answer, before something else is asked."""
        frame, self._begun = self._begun, None
        if frame is not None:
            with contextlib.suppress(Exception):  # a detector that hangs is not usable from now on
                self._answered(frame)

    def _answered(self, frame: Frame) -> object:
        """The answer to the call about a frame. Raises FailedClosed after the deadline, or the detector's error."""
        try:
            answer, error = self._answer()
        except Empty:
            self._abandon()
            raise FailedClosed(
                f"the detector did not answer within {self._deadline:g} s on frame {frame.index}"
            ) from None
        self._usable = True
        try:
            if error is not None:
                raise error
        finally:
            del error  # its traceback holds this stack frame: a reference cycle
        return answer

    def _answer(self) -> Answer:
        """The next answer, as soon as it is there. Raises Empty when the deadline is over."""
        left, thread = self._deadline, self._thread.native_id
        waited = _waited(thread) if left <= 2 * _LOOK else -1.0
        while True:
            began = time.monotonic()
            try:
                return self._told.get(timeout=min(left, _LOOK))
            except Empty:  # most answers come sooner, and `_waited` takes longer than some of them
                before, waited = waited, _waited(thread)
                taken = time.monotonic() - began - (waited - before if before >= 0 else 0.0)
                left -= min(max(taken, 0.0), 2 * _LOOK)
                if left <= 0:
                    raise

    def forget(self) -> None:
        """Make a detector that remembers its last pictures forget them."""
        self._let_go()
        if isinstance(self._inner, RemembersPictures):
            self._inner.forget()

    def moved(self, motion: CameraMotion) -> None:
        """Tell a detector that remembers places how the camera moved before the next picture."""
        self._let_go()
        if isinstance(self._inner, FollowsCamera):
            self._inner.moved(motion)

    def search_all(self) -> None:
        """Make a detector that searches parts of a picture in turn search all of the next picture."""
        self._let_go()
        if isinstance(self._inner, SearchesInTurn):
            self._inner.search_all()

    def search_last(self) -> None:
        """Do as `search_all` for a picture that no similar one follows; a detector may then search less than all."""
        if isinstance(self._inner, SearchesLast):
            self._let_go()
            self._inner.search_last()
        else:
            self.search_all()

    @property
    def ended(self) -> bool:
        """Whether the thread has ended: after `close` or after a call that hung, once the last call comes back."""
        return not self._thread.is_alive()

    def _abandon(self) -> None:
        """Leave a detector that hangs to its thread. Its networks and buffers take 100 MB and more, so nothing else may
        hold them: the next detector has its own."""
        self.hung = True
        if self._stop is not None:
            self._asked.put(partial(_attempt, self._stop, []))
        self._asked.put(give_back_memory)
        self._inner = self._stop = None
        self._told = SimpleQueue()  # an error that comes late would hold the detector, too
        self._finish()

    def close(self) -> None:
        """Stop the thread and the detector, and wait at most a few seconds for it. Raises what `stop` raises. Does
        nothing for a detector that hung."""
        if not self._finish.alive:
            return
        self._usable, self._begun = False, None
        failed: list[BaseException] = []
        if self._stop is not None:
            self._asked.put(partial(_attempt, self._stop, failed))
        self._finish()
        self._thread.join(_CLOSING)
        if failed:
            raise failed[0]


def _waited(thread: int | None) -> float:
    """Seconds so far in which a thread was ready to run but had no processor (Linux's schedstat); 0 where unknown."""
    try:
        return int(Path(f"/proc/self/task/{thread}/schedstat").read_text().split()[1]) / 1e9
    except (OSError, ValueError, IndexError):
        return 0.0


def _found(detect: Detector, frame: Frame) -> tuple[Face, ...]:
    """The detector's faces, read here, where the deadline counts, up to one more than `MOST_FACES`."""
    faces: object = detect(frame)
    if isinstance(faces, str | bytes) or not isinstance(faces, Sequence):
        raise FailedClosed(f"the detector gave frame {frame.index} no list of faces but a {type(faces).__name__}")
    return tuple(itertools.islice(faces, MOST_FACES + 1))


def _again(detect: Detector, frame: Frame, track: int, box: Box, others: Sequence[Box]) -> Face | None:
    """The answer of a detector that can look again."""
    assert isinstance(detect, LooksAgain)
    return detect.look_again(frame, track, box, others)


def _attempt(stop: Callable[[], None], failed: list[BaseException]) -> None:
    try:
        stop()
    except BaseException as error:  # raised again in the caller's thread
        failed.append(error)

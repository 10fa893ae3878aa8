"""The live loop: filters the frames of a camera as they come, for days (docs/architecture.md 4).

A frame that cannot be filtered is withheld: it never leaves, the parts are built anew, and the people keep their faces.
After the loss of the camera, a change of the picture size, or any doubt, the scene is unknown. So nothing is carried
over from before it but the people.
"""

from __future__ import annotations

import logging
import sys
import threading
import time
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any, Protocol

from streamdeid.core.frames import DeidentifiedFrame
from streamdeid.core.process_usage import own_usage
from streamdeid.core.status import LATENCY_BOUNDS, Arrival, LiveStatus, SourceState
from streamdeid.errors import FailedClosed, OutputError, StreamdeidError
from streamdeid.runs.leaving import ClosableOutput, Leaving
from streamdeid.runs.step import Step, most_waiting
from streamdeid.runs.turns import InTurn, at_once
from streamdeid.tracking.tracker import LONGEST_STEP

_WAIT = 0.25
"""Seconds to wait for a frame before checking whether the run is to end."""
_HOPELESS = 60.0
"""Seconds without one good frame after which the run ends."""
_LEAVE = 3.0
"""Seconds that `close` waits for camera and detector after everything else."""
_PAUSE = 0.5
"""Seconds to pause after a repeated failure."""
_OLDEST = 2.0
"""Largest age in seconds, besides the look-ahead, at which a picture may still leave: an older one was held up by a
stall of the camera or of the filter."""
_MOST_HURRIED, _SOME = 4, 4
"""Most pictures in a row in which nobody gets a new face, and number of people who get one in a picture that is only
somewhat late (`LiveFilter._room`)."""
_RECENT = 5.0
"""Seconds over which the frame rate is measured."""
_log = logging.getLogger(__name__)


class LiveInput(Protocol):
    """A source of frames, as `video.live.source.LiveSource`."""

    @property
    def ended(self) -> bool: ...

    def start(self) -> None: ...

    def take(self, timeout: float) -> Arrival | None: ...

    def state(self) -> SourceState: ...

    def close(self) -> None: ...


class LiveParts(Protocol):
    """The parts that filter one section of a stream, as `runs.stream.Stream`."""

    def step(self) -> Step[Arrival]: ...

    @property
    def known_people(self) -> int | None: ...


class PartsBuilder(Protocol):
    """A builder of `LiveParts`, as `runs.live_parts.StreamParts`."""

    def __call__(self, size: tuple[int, int], rate: Fraction, earlier: Any, /, *, doubted: bool) -> LiveParts: ...


class LiveFilter:
    """Filters one camera: `run` filters, `status` says from any thread how it is going, and `close` ends all parts.

    source, output: opened by `run`, closed by `close`. parts: builds the parts that filter pictures of a size (width,
    height) and a rate, from the parts of the stream before them; it is told whether anything failed in those.
    close_parts: ends the detector. lookahead: seconds for which a face is studied before it is shown; every frame is
    later by this. repeat, early: as for `leaving.Leaving`. usage: gives CPU seconds and resident bytes of the encoder.
    turns: each picture is filtered in one, as `turns.Turns` gives them.
    """

    def __init__(
        self,
        source: LiveInput,
        output: ClosableOutput,
        parts: PartsBuilder,
        *,
        close_parts: Callable[[], None] = lambda: None,
        lookahead: float = 0.0,
        repeat: float = 2.0,
        early: bool = False,
        usage: Callable[[], tuple[float, int]] = lambda: (0.0, 0),
        turns: InTurn = at_once,
    ) -> None:
        self.watch: Callable[[DeidentifiedFrame], None] | None = None
        """Called with each frame that leaves, also placeholders and repeated frames, in the thread that sends it."""
        self._source, self._output, self._parts, self._close_parts = source, output, parts, close_parts
        self._lookahead, self._usage, self._turns = lookahead, usage, turns
        self._leaving = Leaving(output, self._why, repeat=repeat, early=early, watch=self._seen)
        self._stream: LiveParts | None = None
        self._step: Step[Arrival] | None = None
        """The step of `_stream`; None before the first stream."""
        self._fits: tuple[object, ...] = ()
        """Connection, sizes and colour that `_stream` was built for; empty when `_stream` may not be used again."""
        self._failed = False
        """Whether anything failed since `_stream` was built."""
        self._size: tuple[int, int] | None = None
        self._faces: Counter[str] = Counter()
        self._filtered = self._withheld = self._skipped = 0
        self._before: tuple[int, Fraction, int] | None = None
        """Connection and time of the picture that was analysed last, and how many had been left out by then."""
        self._hurried = 0
        """How many pictures in a row had no room for a new face."""
        self._doubt: str | None = None
        self._since_doubt: float | None = None
        self._doubted = 0
        """The connection in which the doubt arose."""
        self._times: deque[float] = deque()
        self._latency = [0] * (len(LATENCY_BOUNDS) + 1)
        self._latency_sum = 0.0
        self._told = threading.Lock()
        self._over = False

    def __enter__(self) -> LiveFilter:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def run(self, stop: threading.Event) -> None:
        """Filter until `stop` is set or a replayed file is at its end.

        Raises InputError and OutputError when source or output end for good, SettingsError, and FailedClosed when the
        filter fails from the start, or for a minute without one good frame.
        """
        self._source.start()
        while not stop.is_set():
            arrival = self._source.take(_WAIT)
            self._leaving.check()
            if arrival is not None:
                with self._turns(stop) as waited:
                    failed_again = not stop.is_set() and self._attempt(self._newest(arrival) if waited else arrival)
                if failed_again:
                    time.sleep(_PAUSE)
            elif self._source.ended:
                while self._step is not None and self._step.waiting:
                    self._publish(self._step)
                return

    def close(self) -> None:
        """End everything; an output file is finished. Harmless when called again."""
        if self._over:
            return
        self._over = True
        # A dead camera, a hung detector and a dead receiver are waited for at the same time.
        ends = (self._source.close, self._close_parts)
        aside = [threading.Thread(target=end, name="closing", daemon=True) for end in ends]
        for thread in aside:
            thread.start()
        try:
            self._leaving.close()
        finally:
            try:
                self._output.close()
            finally:
                limit = time.monotonic() + _LEAVE
                for thread in aside:
                    thread.join(max(0.0, limit - time.monotonic()))

    def status(self) -> LiveStatus:
        """The present state of the run, with its counts."""
        with self._told:
            self._gather()
            source, sink, stream = self._source.state(), self._output.state(), self._stream
            age = self._leaving.age
            reason = None if self._over else self._why() if age is None else self._trouble(age)
            cpu, memory = (sum(pair) for pair in zip(own_usage(), self._usage(), strict=True))
            now = time.monotonic()
            recent = [one for one in self._times if one > now - _RECENT]
            return LiveStatus(
                state="ended" if self._over else "starting" if age is None else "degraded" if reason else "live",
                reason=reason,
                source=replace(source, dropped=source.dropped + self._skipped),
                sink=sink,
                filtered=self._filtered,
                withheld=self._withheld,
                repeated=self._leaving.repeated,
                placeholders=self._leaving.placeholders,
                faces=dict(sorted(self._faces.items())),
                people=None if stream is None else stream.known_people,
                frame_age=None if age is None else round(age, 3),
                size=self._size,
                rate=round(len(recent) / _RECENT, 2),
                latency=tuple(self._latency),
                latency_sum=round(self._latency_sum, 4),
                cpu_seconds=round(cpu, 3),
                memory_bytes=int(memory),
            )

    def _newest(self, arrival: Arrival) -> Arrival:
        """The newest picture that has come meanwhile; those before it are left out."""
        while (newer := self._source.take(0.0)) is not None:
            arrival = newer
            self._skipped += 1
        return arrival

    def _attempt(self, arrival: Arrival) -> bool:
        """Filter a frame; withhold it when anything is in doubt. Returns whether that happened again."""
        try:
            self._filter(arrival)
        except OutputError:
            raise
        except Exception as error:
            if isinstance(error, StreamdeidError) and self._stream is None:
                raise  # wrong settings, damaged models, a failed self-test: trying again does not help
            self._withheld += 1 + self._let_go()
            self._fits, self._failed = (), True  # the state of the parts is unknown: they are not used again
            self._leaving.check()
            now = time.monotonic()
            known = isinstance(error, StreamdeidError)
            self._doubt = str(error) if known else f"{type(error).__name__} in the filter"
            if self._since_doubt is None or arrival.connection != self._doubted:
                self._since_doubt, self._doubted = now, arrival.connection  # a lost camera is no doubt
            _log.warning("frame %d is withheld: %s", arrival.frame.index, self._doubt, exc_info=True)
            if now - self._since_doubt > _HOPELESS:
                raise FailedClosed(f"no frame could be filtered for {_HOPELESS:g} s: {self._doubt}") from error
            return now > self._since_doubt
        return False

    def _filter(self, arrival: Arrival) -> None:
        frame = arrival.frame
        stored = frame.as_stored.size
        fits = arrival.connection, frame.planes.size, stored, frame.planes.colour
        if fits != self._fits or self._stream is None:
            self._skipped += self._let_go()
            rate = Fraction(arrival.rate).limit_denominator(1000)
            stream = self._parts(frame.planes.size, rate, self._stream, doubted=self._failed)
            self._stream, self._fits, self._size, self._failed = stream, fits, stored, False
            self._step = stream.step()
        step = self._step
        assert step is not None
        step.analyse(frame, arrival, self._room(arrival))
        pixels = sum(planes.y.size for planes in (frame.planes, frame.stored) if planes is not None)
        most = min(self._lookahead * arrival.rate, most_waiting(pixels * 3 // 2))
        # A camera may send fewer frames than it states, so the age counts, too.
        while len(step.waiting) > most or (step.waiting and _age(step.waiting[0].origin) > self._lookahead):
            self._publish(step)

    def _room(self, arrival: Arrival) -> int:
        """How many may get a new face in a picture: few where pictures were left out before it for want of time.

        After `LONGEST_STEP` all tracks have ended, and to make everybody a new face again costs three times as much as
        all else, so a filter that was held up would be later and later: nobody gets one. After half of that one does.
        """
        before, left_out = self._before, self._source.state().dropped + self._skipped
        self._before = arrival.connection, arrival.frame.time, left_out
        if before is None or before[0] != arrival.connection or before[2] == left_out:
            self._hurried = 0
            return sys.maxsize
        gap = arrival.frame.time - before[1]
        cold = gap > LONGEST_STEP and self._hurried < _MOST_HURRIED
        self._hurried = self._hurried + 1 if cold else 0
        return 0 if cold else 1 if gap > LONGEST_STEP / 2 else _SOME

    def _let_go(self) -> int:
        """Drop the frames that wait; returns how many there were."""
        count = 0 if self._step is None else len(self._step.waiting)
        if self._step is not None:
            self._step.waiting.clear()
        return count

    def _publish(self, step: Step[Arrival]) -> None:
        if self._too_old(step.waiting[0].origin):
            step.decide()  # what comes next builds on it; to render it would only hold that up
            return
        done = step.render()
        arrival, frame = done.pending.origin, done.frame
        if self._too_old(arrival):
            return
        self._leaving.fresh(frame, arrival.rate, arrival.arrived)
        self._doubt = self._since_doubt = None
        with self._told:
            self._filtered += 1
            self._faces.update(redaction.level for redaction in frame.redactions)
            self._times.append(time.monotonic())
            while self._times[0] < self._times[-1] - _RECENT:
                self._times.popleft()

    def _too_old(self, arrival: Arrival) -> bool:
        """Whether a picture is too old to leave; it then counts as withheld."""
        age = _age(arrival)
        if age <= self._lookahead + _OLDEST:
            return False
        self._withheld += 1
        self._doubt = f"a picture was {age:.0f} s old before it could leave"
        return True

    def _gather(self) -> None:
        for latency in self._output.take_latencies():
            self._latency[sum(latency > bound for bound in LATENCY_BOUNDS)] += 1
            self._latency_sum += latency

    def _seen(self, frame: DeidentifiedFrame) -> None:
        if self.watch is not None:
            self.watch(frame)

    def _trouble(self, age: float) -> str | None:
        """Why fresh frames do not leave; None when they leave."""
        sink = self._output.state()
        if age > max(self._leaving.silence, 1.0):
            return self._why()
        return None if sink.connected else f"output: {sink.reason or 'being opened'}"

    def _why(self) -> str:
        """Why there is no fresh frame."""
        source = self._source.state()
        if not source.connected:
            return f"camera: {source.reason or 'being opened'}"
        return self._doubt or "no picture comes from the camera"


def _age(arrival: Arrival) -> float:
    """Seconds since the data of a frame came."""
    return time.monotonic() - arrival.arrived

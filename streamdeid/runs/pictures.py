"""`Filter`: the whole filter on single pictures, for programs with their own loop."""

from __future__ import annotations

import contextlib
import math
from fractions import Fraction
from types import TracebackType

import cv2
import numpy as np

from streamdeid.core.arrays import Picture
from streamdeid.core.colour import planes_from_rgb, rectangle_to_rgb
from streamdeid.core.frames import Colour, Planes
from streamdeid.core.protocols import Detector
from streamdeid.core.square_pixels import frame_of, square_size
from streamdeid.errors import SettingsError
from streamdeid.identity.recognised_faces import Recogniser
from streamdeid.protect.fixed_regions import REGION
from streamdeid.runs.parts import assemble, default_detector, in_time, whitelisted
from streamdeid.runs.session import open_session
from streamdeid.runs.step import Step
from streamdeid.runs.stream import Stream
from streamdeid.settings import Settings

_COLOUR = Colour("bt601", full_range=True)
_STEP = Fraction(1, 25)
"""Seconds between pictures whose time is not given."""
_MARGIN = 8
"""Pixels around a changed area that are also taken from the filter's picture."""


class Filter:
    """Replaces faces in the pictures of one stream, one after another.

    A picture is uint8 (height, width, 3), BGR as OpenCV has it; all pictures of a stream have one size. Pixels away
    from faces are returned bit for bit. There is no look-ahead, so in its first frame a face is known from that frame
    alone; `streamdeid filter` does better on files.

    settings: as for a file; settings of the output file are not used. detect: any function from a `Frame` to faces,
    used instead of the built-in detector (`PluggedIn` makes one of a function of a picture); it is closed with the
    filter where that is possible. Faces without landmarks get a redaction, no synthetic face. self_test: False only for
    a detector that cannot find a rendered face, such as one that replays known places. recognise: the recogniser for
    the people of `settings.whitelist`, used instead of the one in the settings.

    The first picture starts the filter and runs the self-test. Raises SettingsError, ModelError and FailedClosed; after
    an error show nothing, least of all the picture that was given. Not for several threads at once. Use as a context
    manager, or call `close`.
    """

    def __init__(
        self,
        settings: Settings = Settings(),
        *,
        detect: Detector | None = None,
        self_test: bool = True,
        recognise: Recogniser | None = None,
    ) -> None:
        self._session = open_session(settings)
        if recognise is not None and not settings.whitelist:
            raise SettingsError("a recogniser for the whitelist needs a whitelisted picture")
        self._known = whitelisted(settings, self._session.models, recognise)
        self._cleanup = contextlib.ExitStack()
        if detect is None:
            own = default_detector(settings)
            timed = in_time(own, settings, own.close)
        else:
            timed = in_time(detect, settings, getattr(detect, "close", None))
        self._detect = self._cleanup.enter_context(contextlib.closing(timed))
        self._self_test = self_test
        self._aspect = settings.given_aspect or Fraction(1)
        self._size: tuple[int, int] | None = None
        self._stream: Stream | None = None
        self._time: Fraction | None = None
        self._index = 0

    def __enter__(self) -> Filter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __call__(self, picture: Picture, time: float | Fraction | None = None) -> Picture:
        """The picture with every face replaced; a new array.

        time: seconds, not decreasing; None: 1/25 s after the picture before. Raises ValueError for anything but a
        BGR picture, and when the size changes.
        """
        if not isinstance(picture, np.ndarray):
            raise ValueError(f"a picture is a NumPy array, uint8 (height, width, 3), not a {type(picture).__name__}")
        if picture.dtype != np.uint8 or picture.ndim != 3 or picture.shape[2] != 3 or min(picture.shape[:2]) < 2:
            raise ValueError(f"a picture is uint8 (height, width, 3), not {picture.dtype} {picture.shape}")
        size = int(picture.shape[1]), int(picture.shape[0])
        if self._size not in (None, size):
            raise ValueError(f"pictures of a stream have one size; this one is {size}, the others are {self._size}")
        stream = self._started(size)
        following = Fraction(0) if self._time is None else self._time + _STEP
        now = following if time is None else Fraction(time)
        planes = planes_from_rgb(np.ascontiguousarray(picture[:, :, ::-1]), _COLOUR)
        frame = frame_of(planes, now, self._index, None, self._aspect)
        step: Step[None] = stream.step()
        step.analyse(frame, None)
        result = step.render().frame
        self._time, self._index = now, self._index + 1
        out = _pasted(picture, planes, result.planes)
        for redaction in result.redactions:
            if redaction.level == REGION:  # no original pixel may stay there, even where the planes did not change
                grown = [new / old for new, old in zip(frame.planes.size, size, strict=True)] * 2
                box = [side / by for side, by in zip(redaction.box, grown, strict=True)]
                x0, y0 = (max(0, math.floor(side)) & ~1 for side in box[:2])
                x1, y1 = (min(math.ceil(side), most) for side, most in zip(box[2:], size, strict=True))
                out[y0:y1, x0:x1] = rectangle_to_rgb(result.planes, x0, y0, x1, y1)[:, :, ::-1]
        return out

    def close(self) -> None:
        """Stop the detector and forget everybody."""
        self._cleanup.close()
        if self._stream is not None:
            self._stream.end()
        self._stream = self._known = None
        self._size = (0, 0)  # no picture has this size: a closed filter takes none

    def _started(self, size: tuple[int, int]) -> Stream:
        if self._stream is None:
            self._stream = assemble(
                self._session,
                self._detect,
                size=square_size(size, self._aspect),
                tested=self._self_test,
                known=self._known,
                live=True,
            )
            self._size = size
        return self._stream


def _pasted(picture: Picture, before: Planes, after: Planes) -> Picture:
    """The picture, with the rectangles in which the planes differ taken from the new planes.

    Whole rectangles are taken, not single pixels: where a rendered face happens to have the brightness of the original,
    the colour of the original must not remain.
    """
    out = picture.copy()
    height, width = picture.shape[:2]
    changed = (before.u != after.u) | (before.v != after.v)
    luma = (before.y != after.y).astype(np.uint8)
    luma = cv2.copyMakeBorder(luma, 0, height % 2, 0, width % 2, cv2.BORDER_REPLICATE)
    changed |= luma.reshape(changed.shape[0], 2, changed.shape[1], 2).any(axis=(1, 3))
    if not changed.any():
        return out
    grown = cv2.dilate(changed.astype(np.uint8), np.ones((_MARGIN + 1, _MARGIN + 1), np.uint8))
    count, _, boxes, _ = cv2.connectedComponentsWithStats(grown, connectivity=8)
    for x, y, w, h, _ in boxes[1:count].tolist():
        x0, y0, x1, y1 = 2 * x, 2 * y, min(width, 2 * (x + w)), min(height, 2 * (y + h))
        out[y0:y1, x0:x1] = rectangle_to_rgb(after, x0, y0, x1, y1)[:, :, ::-1]
    return out

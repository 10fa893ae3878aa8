"""The pixel aspect that a stream states, picture by picture, and the one by which the filter makes pixels square."""

from __future__ import annotations

from fractions import Fraction

import av

from streamdeid.core.square_pixels import in_words, possible
from streamdeid.video.pictures import Orientation
from streamdeid.video.reading import fraction_of


class SaidAspect:
    """The pixel aspect of a stream that is being decoded, in coded orientation.

    The value of the container is used before that of the decoder, as in players, until the decoder's value changes:
    broadcasts change from 4:3 to 16:9 in the middle.
    """

    def __init__(self, stream: av.VideoStream) -> None:
        self._stream = stream
        self._begun = False
        self._first: Fraction | None = None
        self._container: Fraction | None = None

    def now(self) -> Fraction | None:
        """The pixel aspect of the picture that was decoded last; None where it is not stated (0:1 counts as that)."""
        coded = fraction_of(self._stream.codec_context.sample_aspect_ratio)
        if not self._begun:
            self._begun, self._first = True, coded
            self._container = fraction_of(self._stream.sample_aspect_ratio)
        if coded is not None and coded != self._first:
            self._container = None
        return self._container or coded


def upright(aspect: Fraction | None, orientation: Orientation) -> Fraction | None:
    """The pixel aspect of the picture turned upright."""
    return 1 / aspect if aspect is not None and orientation.swaps_sides else aspect


def squared_by(said: Fraction | None, given: Fraction | None) -> Fraction:
    """The pixel aspect by which pixels are made square: the user's, else the stream's, else 1.

    Raises ValueError for an impossible aspect; its message completes "it …"."""
    aspect = given or said or Fraction(1)
    if not possible(aspect):
        raise ValueError(
            f"says that its pixels are {in_words(aspect)}, and from 1:4 to 4:1 is possible; say how they are with "
            "--pixel-aspect W:H"
        )
    return aspect

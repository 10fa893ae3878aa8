"""Makes the encoder's pictures from planes: padded to even sides, or scaled into a picture of another size."""

from __future__ import annotations

import av

from streamdeid.core.frames import Colour, Planes
from streamdeid.video.picture_memory import ONE_THREAD, picture_of, plane_view

_SWS_MATRICES = {"bt601": 5, "bt709": 1}


def encoder_picture(planes: Planes, width: int, height: int, colour: Colour) -> av.VideoFrame:
    """A yuv420p picture of width x height (both even) that holds the planes.

    Where the planes lack one column or row, the last one is repeated. Planes of any other size or colour are scaled
    in proportion and put into the middle of a black picture.
    """
    own_width, own_height = planes.size
    fits = own_width in (width - 1, width) and own_height in (height - 1, height)
    if fits and planes.colour == colour:
        return picture_of(planes, width, height)
    return _boxed(planes, width, height, colour)


def _boxed(planes: Planes, width: int, height: int, colour: Colour) -> av.VideoFrame:
    own_width, own_height = planes.size
    scale = min(width / own_width, height / own_height)
    inner_width = min(width, max(2, round(own_width * scale / 2) * 2))
    inner_height = min(height, max(2, round(own_height * scale / 2) * 2))
    inner = picture_of(planes, own_width + own_width % 2, own_height + own_height % 2).reformat(
        inner_width,
        inner_height,
        "yuv420p",
        src_colorspace=_SWS_MATRICES[planes.colour.matrix],
        dst_colorspace=_SWS_MATRICES[colour.matrix],
        src_color_range=2 if planes.colour.full_range else 1,
        dst_color_range=2 if colour.full_range else 1,
        **ONE_THREAD,
    )
    picture = av.VideoFrame(width, height, "yuv420p")
    left, top = (width - inner_width) // 4 * 2, (height - inner_height) // 4 * 2
    for index, black in enumerate((0 if colour.full_range else 16, 128, 128)):
        half = 1 if index == 0 else 2
        source, view = plane_view(inner, index), plane_view(picture, index)
        view[:] = black
        rows, columns = source.shape
        view[top // half : top // half + rows, left // half : left // half + columns] = source
    return picture

"""streamdeid: a privacy filter for video.

It replaces every face by a synthetic one that speaks, blinks and turns like the original and is of no real person::

    import numpy as np
    from streamdeid import Filter

    with Filter() as filter:
        picture = np.full((360, 640, 3), 200, np.uint8)  # BGR, as OpenCV reads it
        safe = filter(picture)

A recording in one call (sound and times are kept; the report says what was done)::

    from streamdeid import Settings, filter_file

    report = filter_file("in.mp4", "out.mp4", Settings(overwrite=True))

Any function from a picture to boxes can serve as the detector; this one knows the place of the face beforehand::

    from streamdeid import Filter, PluggedIn

    def faces(image):  # uint8 (height, width, 3), RGB
        return [(100, 80, 180, 180)]  # x0, y0, x1, y1 in pixels, and a score if there is one

    with Filter(detect=PluggedIn(faces), self_test=False) as filter:
        safe = filter(picture)

A program with a camera of its own::

    import streamdeid

    streamdeid.warm_up()  # compile now, or better `streamdeid warmup` when the image is built

    def safe_pictures(pictures):  # of one camera, in order: (seconds, BGR picture)
        with streamdeid.Filter(streamdeid.Settings(method="k-diff-furthest", coast=2.0)) as filter:
            for seconds, picture in pictures:
                try:
                    safe = filter(picture, seconds)
                except streamdeid.StreamdeidError:
                    return  # fail closed: show no more pictures, and begin again with a new Filter
                yield safe

Sizes. A picture is uint8 (height, width, 3) BGR, at least 2 pixels wide and high; odd sizes are allowed. All pictures
of a Filter have the size of the first. The result is a new array; pixels away from faces are returned bit for bit.

Time. Give the time of each picture in seconds; it must not decrease. Without times, pictures count as 1/25 s apart.
Fading and coasting are measured in this time: give times wherever pictures are left out.

Threads. One Filter is one stream and belongs to one thread at a time. Use one Filter for each camera, in threads of
their own (the heavy parts run without the interpreter's lock) or, better isolated, in processes. The detector runs in
a thread of the Filter's own, so that a detector that hangs is noticed (`Settings.detector_deadline`). The same person
gets the same surrogate in two Filters only with the same `Settings.key_file`. Set OPENBLAS_NUM_THREADS=1 before NumPy
is imported: more threads only spin.

Errors. `StreamdeidError` is the base of all errors raised on purpose; each message is one line. SettingsError and
ModelError are raised before anything is filtered. FailedClosed says that the filter was in doubt: the self-test on a
rendered face failed, or the detector broke or hung. ValueError says that the argument is no picture, or has another
size. Fail closed: after any error, show and keep nothing of that picture, least of all the picture itself. Nothing
half-filtered is ever returned.

Closing. Use `with`, or call `close`: it stops the detector's thread and forgets everybody. A closed Filter takes no
picture. A Filter keeps faces, identities and the random key in memory only. A program that dies of a fault may leave
its memory in a core file. `no_core_files()` switches core files off for the whole program; this library does not do
that unasked.

Start. The first picture runs the self-test. A cold start takes 1.0 s of CPU to the first filtered picture when kernels
and bytecode exist, and 18 to 20 s when neither exists (`python -m benchmarks cold_start`, one face). `warm_up`, or
`streamdeid warmup` where an image is built, compiles all kernels once and keeps them beside the installed package, in
NUMBA_CACHE_DIR or in the user's cache. They are found there even if the place is read-only. Where nothing can be kept,
they are compiled in memory (`streamdeid.core.kernel_cache`). Kernels are compiled for one kind of processor; on another
kind they are compiled again.

Cost. The same command measures 16 ms of CPU for a later picture of 640x480 with one rendered face, and 340 MiB of
memory at the peak. `python -m benchmarks cost VIDEO` measures the cost on a video of yours, by stage. The first person
of a gender costs 0.2 s once.

Importing this package is cheap: each exported name is loaded when it is first used. `streamdeid.Filter` and
`streamdeid.Settings` describe every argument.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from streamdeid.core.core_files import no_core_files
    from streamdeid.core.faces import Face
    from streamdeid.core.frames import Colour, Frame, Planes
    from streamdeid.detection.plugged_in import PluggedIn
    from streamdeid.errors import (
        FailedClosed,
        InputError,
        ModelError,
        OutputError,
        SettingsError,
        StreamdeidError,
    )
    from streamdeid.identity.recognised_faces import Recogniser
    from streamdeid.protect.region import Region
    from streamdeid.report.redaction_report import FileReport
    from streamdeid.runs.files import filter_file
    from streamdeid.runs.pictures import Filter
    from streamdeid.runs.profiles import profile_settings
    from streamdeid.runs.warm_up import WarmUp, warm_up
    from streamdeid.settings import Settings

_HOMES = {
    "Colour": "core.frames",
    "Face": "core.faces",
    "FailedClosed": "errors",
    "FileReport": "report.redaction_report",
    "Filter": "runs.pictures",
    "Frame": "core.frames",
    "InputError": "errors",
    "ModelError": "errors",
    "OutputError": "errors",
    "Planes": "core.frames",
    "PluggedIn": "detection.plugged_in",
    "Recogniser": "identity.recognised_faces",
    "Region": "protect.region",
    "Settings": "settings",
    "SettingsError": "errors",
    "StreamdeidError": "errors",
    "WarmUp": "runs.warm_up",
    "filter_file": "runs.files",
    "no_core_files": "core.core_files",
    "profile_settings": "runs.profiles",
    "warm_up": "runs.warm_up",
}

__all__ = [
    "Colour",
    "Face",
    "FailedClosed",
    "FileReport",
    "Filter",
    "Frame",
    "InputError",
    "ModelError",
    "OutputError",
    "Planes",
    "PluggedIn",
    "Recogniser",
    "Region",
    "Settings",
    "SettingsError",
    "StreamdeidError",
    "WarmUp",
    "filter_file",
    "no_core_files",
    "profile_settings",
    "warm_up",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

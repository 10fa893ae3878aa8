"""streamdeid: a privacy filter for video.

Every face is replaced by a synthetic one that speaks, blinks and turns like the original and belongs to nobody::

    import numpy as np
    from streamdeid import Filter

    with Filter() as filter:
        picture = np.full((360, 640, 3), 200, np.uint8)  # BGR, as OpenCV reads it
        safe = filter(picture)

A recording in one call (sound and times are kept; the report says what was done)::

    from streamdeid import Settings, filter_file

    report = filter_file("in.mp4", "out.mp4", Settings(overwrite=True))

Any detector plugs in as a function from a picture to boxes, here one that knows the place beforehand::

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
                    return  # fail closed: show nothing more of it, and begin again with a new Filter
                yield safe

Sizes. A picture is uint8 (height, width, 3) BGR, at least 2 pixels each way, odd sizes too; all pictures of a Filter
have the size of the first. The result is a new array; pixels away from faces are returned bit for bit.

Time. Give each picture's own time in seconds, not decreasing; without it, pictures count as 1/25 s apart. Fading and
coasting are measured in it: where pictures are left out, the count must not stand for time.

Threads. One Filter is one stream and belongs to one thread at a time. Several cameras take one Filter each, in threads
of their own (the heavy parts run without the interpreter's lock) or, better isolated, in processes. The detector runs
in a thread of the Filter's own, so that a hung one is noticed (`Settings.detector_deadline`). The same person gets the
same surrogate in two Filters only with the same `Settings.key_file`. Set OPENBLAS_NUM_THREADS=1 before NumPy is
imported: more threads only spin.

Errors. `StreamdeidError` is the base of all that is raised on purpose, one line each: SettingsError and ModelError
before anything was filtered; FailedClosed when the filter was in doubt: the self-test on a drawn face failed, the
detector broke or hung. ValueError is for what is no picture, or one of another size. Fail closed: whatever was raised,
show and keep nothing of that picture, least of all the picture itself; nothing half-filtered is ever returned.

Closing. Use `with`, or call `close`: it stops the detector's thread and forgets everybody. A closed Filter takes no
picture. It keeps faces, identities and the random key in memory only. A program that dies of a fault may leave its
memory in a core file: `no_core_files()` switches them off for the whole program, which a library does not do unasked.

Start. The first picture runs the self-test. A cold start takes 1.0 s of CPU to the first filtered picture when kernels
and bytecode are there, and 18 to 20 s when neither is (`python -m benchmarks cold_start`, one face). `warm_up`, or
`streamdeid warmup` where an image is built, compiles everything once and keeps it beside the installed package, in
NUMBA_CACHE_DIR or in the user's cache; it is found there read-only too, and where nothing can be kept it is compiled in
memory (`streamdeid.core.kernel_cache`). Kernels belong to a kind of processor: on another one they are compiled again.

Cost. By the same command: 16 ms of CPU for a later picture of 640x480 with one drawn face, and 340 MiB of memory at
the peak. `python -m benchmarks cost VIDEO` measures it on a video of yours, by stage. The first person of a gender
costs 0.2 s once.

Importing this package is cheap: what is named here is loaded when it is first used. `streamdeid.Filter` and
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

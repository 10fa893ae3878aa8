"""The parts of a run, chosen and put together from settings: the only file that names them."""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from streamdeid.aam.piecewise_affine import Points
from streamdeid.colour import planes_from_rgb
from streamdeid.deidentify.k_same_furthest_fet import PaperTransfer
from streamdeid.deidentify.ladder import Rung
from streamdeid.deidentify.mask_faces import MaskFaces
from streamdeid.deidentify.replace_faces import ReplaceFaces
from streamdeid.deidentify.self_test import self_test
from streamdeid.deidentify.session_key import read_key_file
from streamdeid.deidentify.surrogates import Surrogates, SurrogateSettings
from streamdeid.detection.mediapipe_faces import MediapipeFaces
from streamdeid.errors import FailedClosed, StreamdeidError
from streamdeid.faces import Face, Track
from streamdeid.frames import Frame, Planes
from streamdeid.pipeline import Detector
from streamdeid.settings import Settings
from streamdeid.shipped_models import Models
from streamdeid.tracking.cuts import Cuts
from streamdeid.tracking.reentry import Identity, Persons
from streamdeid.tracking.tracker import FaceTracker
from streamdeid.video.drawn_clip import write_drawn_clip
from streamdeid.video.formats import CONTAINERS, PRESETS
from streamdeid.video.prefetch import BackgroundSink, prefetch
from streamdeid.video.sink import FileSink
from streamdeid.video.source import FileSource, SourceInfo

SAME_PERSON, OTHER_PERSON = 3200.0, 5000.0
"""Distances of identities up to which a returning face is taken for the same person, and from which for another
(`tracking.reentry`), in the units of the identity space; between them it counts as a new person."""
_LEAST_COAST = 3
"""Frame intervals for which a lost face is followed at least, however short `coast` is."""
_MOST_WAITING = 512 << 20
"""Bytes of pictures that the look-ahead may hold; large pictures get a shorter look-ahead."""
_SELF_TEST_PERSON = 0
"""Number of the drawn person of the self-test; real ones start at 1."""


WRITABLE = tuple(CONTAINERS)
"""Extensions of the files that can be written."""
ENCODER_PRESETS = PRESETS
"""Speeds of the encoders, fastest first."""


@dataclass(frozen=True)
class Stream:
    """The parts for one stream, self-tested, ready for `pipeline.deidentified`."""

    detect: Detector
    tracker: FaceTracker
    deidentifier: ReplaceFaces | MaskFaces
    surrogates: Surrogates | None
    """None for a mask."""
    persons: Persons
    cuts: Callable[[], int]
    """How many scene cuts were seen so far."""

    @property
    def covered(self) -> int:
        """Places covered so far, summed over the frames."""
        return sum(self.deidentifier.rungs.values())

    @property
    def rungs(self) -> dict[str, int]:
        """The same by how they were covered."""
        if isinstance(self.deidentifier, MaskFaces):
            return dict(sorted(self.deidentifier.rungs.items()))
        return {rung.label: count for rung, count in sorted(self.deidentifier.rungs.items())}

    @property
    def persons_by_rung(self) -> dict[str, dict[str, int]]:
        """The same by person number, "0" for faces whose person was never decided; empty for a mask."""
        if isinstance(self.deidentifier, MaskFaces):
            return {}
        return {
            str(person): {rung.label: count for rung, count in sorted(rungs.items())}
            for person, rungs in sorted(self.deidentifier.persons.items())
        }

    @property
    def people(self) -> int | None:
        """Persons told apart; None for a mask, which knows nobody."""
        if isinstance(self.deidentifier, MaskFaces):
            return None
        return len(self.deidentifier.persons.keys() - {0})

    @property
    def tracks(self) -> dict[str, int]:
        """How tracks were assigned to persons; empty for a mask."""
        if isinstance(self.deidentifier, MaskFaces):
            return {}
        return {outcome.value: count for outcome, count in self.persons.counts.items()}


def default_detector(settings: Settings) -> MediapipeFaces:
    """The detector of a run; it holds running graphs, so close it."""
    return MediapipeFaces(settings.threshold)


def photograph_detector(detect: MediapipeFaces) -> Callable[[NDArray[np.uint8]], Sequence[Face]]:
    """The detector as a function of RGB photographs, uint8 (h, w, 3), that have nothing to do with each other."""

    def faces(image: NDArray[np.uint8]) -> Sequence[Face]:
        detect.forget()
        return detect(Frame(planes_from_rgb(image), Fraction(0), 0))

    return faces


def secret(settings: Settings) -> bytes | None:
    """The bytes of the key file, or None. Raises SettingsError."""
    return None if settings.key_file is None else read_key_file(settings.key_file)


def assemble(
    settings: Settings,
    models: Models,
    detect: Detector,
    *,
    key: bytes | None = None,
    size: tuple[int, int] | None = None,
    rate: Fraction | None = None,
    tested: bool = True,
) -> Stream:
    """Build the parts for one stream and run the self-test over them.

    key None: fresh random bytes. size (width, height) and rate (frames per second) of the stream, where known.
    tested False leaves the self-test out, for a detector that cannot know a drawn face.
    Raises SettingsError for settings that the models do not allow, FailedClosed when the self-test fails.
    """
    settings.check_gallery(len(models.gallery.identities))
    surrogates = _surrogates(settings, models, key) if settings.synthesises else None
    watch = _Watch(detect, tracker := _tracker(settings, size, rate))
    _forget(detect)
    if tested:
        _test(settings, models, detect, surrogates)
    persons = Persons(accept=SAME_PERSON, reject=OTHER_PERSON, reentry=settings.reentry)
    deidentifier = _deidentifier(settings, models, surrogates, _Persons(persons))
    return Stream(watch, tracker, deidentifier, surrogates, persons, lambda: watch.cuts)


def lookahead_frames(settings: Settings, info: SourceInfo) -> int:
    """The look-ahead in frames of a file, shortened where the waiting pictures would fill the memory."""
    if not settings.synthesises:
        return 0  # a mask has nothing to learn ahead
    picture = info.width * info.height * 3 // 2
    return min(math.ceil(settings.lookahead * info.average_rate), _MOST_WAITING // max(picture, 1))


def open_source(path: Path, settings: Settings) -> FileSource:
    """The source for a file. Raises InputError."""
    return FileSource(path, tolerant=settings.tolerant)


def open_sink(path: Path, info: SourceInfo, settings: Settings) -> FileSink:
    """The sink for a file like the one `info` describes. Raises SettingsError and OutputError."""
    return FileSink(
        path,
        info,
        codec=settings.codec,
        crf=settings.crf,
        preset=settings.preset,
        audio=settings.audio,
        keep_metadata=settings.keep_metadata,
        overwrite=settings.overwrite,
        tolerant=settings.tolerant,
    )


def write_drawing(path: Path, pictures: Iterable[Planes], rate: int) -> None:
    """Write pictures that were drawn, never a camera's. Raises OutputError."""
    write_drawn_clip(path, pictures, rate)


def read_ahead(frames: Iterable[Frame]) -> Generator[Frame, None, None]:
    """The frames, decoded in a thread of their own; close the generator to end it."""
    return prefetch(frames)


def write_behind(sink: FileSink) -> BackgroundSink:
    """The sink, encoding in a thread of its own; it finishes or aborts the given one."""
    return BackgroundSink(sink)


class _Watch:
    """A detector that tells the tracker of scene cuts and lets nothing odd pass: any doubt withholds the frame."""

    def __init__(self, detect: Detector, tracker: FaceTracker) -> None:
        self._detect, self._tracker = detect, tracker
        self._is_cut = Cuts()
        self.cuts = 0

    def __call__(self, frame: Frame, /) -> Sequence[Face]:
        if self._is_cut(frame.planes.y):
            self.cuts += 1
            self._tracker.cut()
            _forget(self._detect)
        try:
            faces = self._detect(frame)
        except StreamdeidError:
            raise
        except Exception as error:
            raise FailedClosed(f"the detector failed on frame {frame.index}: {type(error).__name__}") from error
        for face in faces:
            if not all(math.isfinite(value) for value in face.box):
                raise FailedClosed(f"the detector gave frame {frame.index} a face without a place")
        return faces


class _Persons:
    """`tracking.reentry` as the register that `ReplaceFaces` asks."""

    def __init__(self, persons: Persons) -> None:
        self._persons = persons

    def update(self, frame: Frame, tracks: Sequence[Track]) -> None:
        self._persons.update(tracks, frame.time)

    def person_of(self, track: int) -> int | None:
        return self._persons.person_of(track)

    def commit(self, track: int, identity: Points, frames: int) -> int | None:
        return self._persons.commit({track: Identity(identity, frames=frames)})[track].person


class _SelfTestRegister:
    """Whoever is committed is the drawn person."""

    def __init__(self) -> None:
        self._known: set[int] = set()

    def update(self, frame: Frame, tracks: Sequence[Track]) -> None:
        """Nothing to note."""

    def person_of(self, track: int) -> int | None:
        return _SELF_TEST_PERSON if track in self._known else None

    def commit(self, track: int, identity: Points, frames: int) -> int | None:
        self._known.add(track)
        return _SELF_TEST_PERSON


def _test(settings: Settings, models: Models, detect: Detector, surrogates: Surrogates | None) -> None:
    """Run the self-test with a tracker and a de-identifier of its own, and clear up after it. Raises FailedClosed."""
    tracker = FaceTracker()
    deidentifier = _deidentifier(settings, models, surrogates, _SelfTestRegister())
    self_test(models.fitting, _Watch(detect, tracker), tracker.update, deidentifier)
    # A detector without landmarks allows a solid fill at best; one with landmarks must lead to a synthetic face here.
    if isinstance(deidentifier, ReplaceFaces) and Rung.MEAN_FACE in deidentifier.rungs:
        raise FailedClosed("the self-test failed: no synthetic face could be drawn over a known one")
    _forget(detect)
    if surrogates is not None:
        surrogates.forget(_SELF_TEST_PERSON)
        surrogates.counts.clear()


def _surrogates(settings: Settings, models: Models, key: bytes | None) -> Surrogates:
    chosen = SurrogateSettings(method=settings.method, k=settings.k, q=settings.q, preserve=settings.preserve)
    return Surrogates(models.gallery, models.fitting.model.variances, chosen, key)


def _deidentifier(
    settings: Settings, models: Models, surrogates: Surrogates | None, register: _Persons | _SelfTestRegister
) -> ReplaceFaces | MaskFaces:
    if surrogates is None:
        return MaskFaces(settings.method)
    transfer = PaperTransfer(models.fitting) if settings.transfer == "paper" else None
    return ReplaceFaces(models.fitting, surrogates, register, transfer=transfer, copy_eyes=settings.eyes == "original")


def _tracker(settings: Settings, size: tuple[int, int] | None, rate: Fraction | None) -> FaceTracker:
    least = float(_LEAST_COAST / rate) if rate else 0.0
    return FaceTracker(coast=max(settings.coast, least), size=size)


def _forget(detect: Detector) -> None:
    """Let a detector that remembers its last picture forget it."""
    if isinstance(detect, MediapipeFaces):
        detect.forget()

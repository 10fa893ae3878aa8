"""Chooses the parts of a run by its settings and assembles them, from the detector to the de-identifier."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from streamdeid.analysis.stored_faces import stored
from streamdeid.core.arrays import Plane
from streamdeid.core.camera_motion import CameraMotion
from streamdeid.core.colour import planes_from_rgb
from streamdeid.core.faces import Face
from streamdeid.core.file_identity import FileIdentity
from streamdeid.core.frames import Frame
from streamdeid.core.process_usage import processors
from streamdeid.core.protocols import Detector
from streamdeid.detection.deadline import TimedDetector
from streamdeid.detection.guard import Change, Watch
from streamdeid.detection.mediapipe_faces import MediapipeFaces
from streamdeid.identity.gathered import GatheredTracklets
from streamdeid.identity.looks import Looks
from streamdeid.identity.person_templates import RecognisedTemplates
from streamdeid.identity.recognised_faces import Known, Recogniser
from streamdeid.identity.register import PersonRegister, new_persons
from streamdeid.identity.tracklet_vectors import TrackletVectors
from streamdeid.protect.choices import Choice
from streamdeid.protect.edited import Edited
from streamdeid.protect.mask_faces import MaskFaces
from streamdeid.protect.plan import Deidentifier
from streamdeid.protect.replace_faces import ReplaceFaces
from streamdeid.protect.self_test import DrawnPerson, self_test
from streamdeid.protect.study_faces import StudyFaces
from streamdeid.render.decoded_faces import DecodedFaces
from streamdeid.render.paper_transfer import PaperTransfer
from streamdeid.runs.again import EditedRecording, RecordedChoice, RecordedFrames
from streamdeid.runs.analysed import Kept, places_of
from streamdeid.runs.people import People, new_people
from streamdeid.runs.reviewed import Reviewed
from streamdeid.runs.session import Session
from streamdeid.runs.step import SETTLED, Step, WithLookAhead, most_waiting
from streamdeid.runs.stream import Stream
from streamdeid.runs.whitelist import laid_around, read_whitelist, recogniser_of
from streamdeid.settings import Settings
from streamdeid.surrogates.models import Models
from streamdeid.tracking.cuts import Cuts
from streamdeid.tracking.lookahead import LookAhead
from streamdeid.tracking.tracker import FaceTracker
from streamdeid.video.files.drawn_clip import write_drawn_clip
from streamdeid.video.files.prefetch import BackgroundSink, prefetch
from streamdeid.video.files.sink import FileSink
from streamdeid.video.files.source import FileSource, SourceInfo
from streamdeid.video.formats import CONTAINERS, PRESETS

_LEAST_COAST = 3
"""Least number of frame intervals for which a lost face is followed, however short `coast` is."""
_RATE = 25.0
"""Frames per second of a stream that does not state its rate."""
_SEGMENT = 2.0
"""Seconds between key frames in an output that is reviewed: an edit makes the program render from one key frame to the
next, and the desk seeks to them. This makes files 3 to 39 % larger (docs/benchmarks.md)."""
_DEPTH = 2
"""Frames between the loop and each of the threads that decode and encode, so that the loop does not wait for them."""
_SURVEYS = (0.5, 960), (2.0, 640)
"""Seconds between surveys, and longer side in pixels of the picture that they search. A survey takes 75 ms of CPU. The
second pair, with 36 ms, is for runs in which a viewer waits for the picture, and the picture for its survey."""

WRITABLE = tuple(CONTAINERS)
"""Extensions of the files that can be written."""
ENCODER_PRESETS = PRESETS
"""Speeds of the encoders, fastest first."""


def default_detector(settings: Settings, *, live: bool = False) -> MediapipeFaces:
    """The detector of a run; close it, since it holds running graphs and threads. live: pictures do not wait for
    surveys where there is more than one processor."""
    beside = live and processors() > 1
    seconds, side = _SURVEYS[0 if (beside if live else settings.lookahead) else 1]
    survey = (seconds if settings.survey is None else settings.survey), side, beside
    return MediapipeFaces(settings.threshold, settings.min_face, settings.detector_interval, *survey)


def still_detector() -> MediapipeFaces:
    """The detector for photographs, which show large faces: it searches only the whole picture. Close it."""
    return MediapipeFaces(min_face=math.inf)


def in_time(detect: Detector, settings: Settings, stop: Callable[[], None] | None = None) -> TimedDetector:
    """The detector with the deadline of the settings, unless it has one already. stop: ends the detector."""
    return detect if isinstance(detect, TimedDetector) else TimedDetector(detect, settings.detector_deadline, stop)


def timed_detector(settings: Settings, *, live: bool = False) -> TimedDetector:
    """The detector of a run with its deadline. Closing it ends it in its own thread, whatever it is doing."""
    detect = default_detector(settings, live=live)
    return in_time(detect, settings, detect.close)


def photograph_detector(detect: MediapipeFaces) -> Callable[[NDArray[np.uint8]], Sequence[Face]]:
    """`still_detector` as a function of RGB photographs, uint8 (h, w, 3), each on its own."""
    least = Settings().threshold

    def faces(image: NDArray[np.uint8]) -> Sequence[Face]:
        detect.forget()
        found = detect(Frame(planes_from_rgb(image), Fraction(0), 0))
        return [face for face in found if face.landmarks is not None or face.evidence >= least]

    return faces


def whitelisted(settings: Settings, models: Models, recogniser: Recogniser | None = None) -> Known | None:
    """The people on the whitelist; None without a whitelist. recogniser: used instead of the one in the settings.

    Raises SettingsError for a picture or a recogniser that cannot be used.
    """
    if not settings.whitelist:
        return None
    model = models.fitting.model
    with contextlib.closing(still_detector()) as detect:
        chosen = recogniser or recogniser_of(settings, model)
        return read_whitelist(settings.whitelist, chosen, model, photograph_detector(detect))


def assemble(
    session: Session,
    detect: Detector,
    *,
    size: tuple[int, int] | None = None,
    rate: Fraction | None = None,
    tested: bool = True,
    known: Known | None = None,
    people: People | None = None,
    reviewed: Reviewed | None = None,
    live: bool = False,
) -> Stream:
    """Build the parts for one stream and run the self-test over them.

    size (width, height) and rate (frames per second) of the stream, where known. tested: False leaves the self-test
    out, for a detector that cannot find a rendered face or has just passed. known: the `whitelisted` people; None: they
    are read again. people: those of the earlier parts of the same stream (`Stream.handed_on`), who keep their faces;
    all else begins anew. reviewed: what an analysis and its edits change in this stream. live: whether the stream goes
    on when its register fails.
    Raises SettingsError for settings that the models do not allow, FailedClosed when the self-test fails.
    """
    settings, models = session.settings, session.models
    frames_a_second = float(rate or _RATE)
    if people is None:
        people = new_people(session, frames_a_second, live=live)
    timed = in_time(detect, settings)
    lookahead = LookAhead(settings.threshold, size)
    found = timed if reviewed is None else reviewed.found(timed)
    watch = _watch(timed, found, tracker := _tracker(settings, size, rate))
    timed.forget()
    if tested:
        passes_self_test(session, timed)
    vectors = None if session.recogniser is None else TrackletVectors(session.recogniser, frames_a_second)
    choice = people.choice
    if reviewed is not None and people.surrogates is not None:
        choice = reviewed.choice(people.surrogates)
    register = PersonRegister(people.persons, people.shared)
    faces = _faces(session, choice, register, vectors, people.tracklets, people.decoded)
    around = laid_around(faces, settings, known or whitelisted(settings, models), models.fitting.model, size)
    inside = around if reviewed is None else reviewed.edited(faces, around)
    outer = WithLookAhead(inside, lookahead, watch if settings.lookahead else None)
    return Stream(watch, tracker, outer, faces, people)


def rendered_again(session: Session, detect: Detector, recorded: EditedRecording) -> Callable[[], Deidentifier]:
    """A function that makes a new de-identifier, with edits applied, for each segment of an analysed recording.

    Raises SettingsError, and FailedClosed when the self-test fails.
    """
    settings, models, surrogates = session.settings, session.models, session.surrogates()
    passes_self_test(session, in_time(detect, settings))
    size = recorded.analysis.header.width, recorded.analysis.header.height
    choice = None if surrogates is None else RecordedChoice(recorded.analysis, surrogates)
    nobody = PersonRegister(new_persons(reentry=False))

    def made() -> Deidentifier:
        faces = _faces(session, choice, nobody, recorded=recorded)
        inner = laid_around(faces, settings, None, models.fitting.model, size)
        return Edited(inner, recorded.applied.at, places_of(recorded.analysis), faces, recorded.applied.surrogates)

    return made


@dataclass(frozen=True)
class Study:
    """The parts of the first of two passes over a segment."""

    step: Step[None]
    gathered: Callable[[], GatheredTracklets]
    """Ends the segment and returns what is known of its tracklets."""
    close: Callable[[], None]


def studied(session: Session, detect: TimedDetector, size: tuple[int, int], rate: Fraction) -> Study:
    """The parts of the first of two passes over a segment; size and rate as for `assemble`. Raises FailedClosed."""
    settings = session.settings
    lookahead = LookAhead(settings.threshold, size)
    watch = _watch(detect, Kept(detect, stored), tracker := _tracker(settings, size, rate))
    detect.forget()
    if not settings.synthesises:
        step: Step[None] = Step(watch, tracker, WithLookAhead(MaskFaces(settings.method), lookahead, watch))
        return Study(step, GatheredTracklets, lambda: None)
    vectors = None if session.recogniser is None else TrackletVectors(session.recogniser, float(rate))
    faces = StudyFaces(session.models.fitting, Looks(), None if vectors is None else RecognisedTemplates(vectors))

    def gathered() -> GatheredTracklets:
        faces.end()
        return faces.gathered

    step = Step(watch, tracker, WithLookAhead(faces, lookahead, watch))
    return Study(step, gathered, faces.close)


def decided(session: Session, choice: Choice, recorded: RecordedFrames, size: tuple[int, int]) -> Deidentifier:
    """The de-identifier for a segment in the second of two passes, when all decisions are made."""
    nobody, settings = PersonRegister(new_persons(reentry=False)), session.settings
    faces = _faces(session, choice if settings.synthesises else None, nobody, recorded=recorded)
    return laid_around(faces, settings, None, session.models.fitting.model, size)


def passes_self_test(session: Session, detect: TimedDetector) -> None:
    """Run the self-test with a tracker and a de-identifier of its own, then reset the detector. Raises FailedClosed."""
    tracker = FaceTracker()
    lookahead = LookAhead(session.settings.threshold)
    faces = _faces(session, session.self_test_surrogates, DrawnPerson())
    whole = WithLookAhead(MaskFaces(session.settings.method) if faces is None else faces, lookahead)
    self_test(session.models.fitting, _watch(detect, detect, tracker), tracker.update, whole)
    detect.forget()


def lookahead_frames(settings: Settings, info: SourceInfo) -> int:
    """How many frames of a file wait: those of the look-ahead, and those for which the redacted tracks are settled
    already (`SETTLED`). Fewer wait where their pictures would fill the memory."""
    seconds = settings.lookahead + SETTLED if settings.lookahead else 0.0
    return min(math.ceil(seconds * info.average_rate), most_waiting(info.frame_bytes))


def open_source(path: Path, settings: Settings, identity: FileIdentity | None = None) -> FileSource:
    """The source for a file. identity: of the file as it was opened before, which it must be. Raises InputError."""
    shape, most = settings.given_aspect, settings.most_pixels
    return FileSource(path, tolerant=settings.tolerant, identity=identity, pixel_aspect=shape, most_pixels=most)


def open_sink(
    path: Path, info: SourceInfo, settings: Settings, *, streams: bool = True, reviewed: bool = False
) -> FileSink:
    """The sink for a file like the one `info` describes. Raises SettingsError and OutputError.

    streams: whether sound and subtitles are copied. reviewed: whether parts of it may be rendered again later.
    """
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
        streams=streams,
        key_frames=_SEGMENT if reviewed else None,
    )


write_drawing = write_drawn_clip
"""Writes rendered pictures, never those of a camera."""


def read_ahead(frames: Iterable[Frame]) -> Generator[Frame, None, None]:
    """The frames, decoded in a thread of their own; close the generator to end the thread."""
    return prefetch(frames, _DEPTH)


def write_behind(sink: FileSink) -> BackgroundSink:
    """A sink that encodes in a thread of its own, and finishes or aborts the given sink."""
    return BackgroundSink(sink, _DEPTH)


def _faces(
    session: Session,
    surrogates: Choice | None,
    register: PersonRegister | DrawnPerson,
    vectors: TrackletVectors | None = None,
    first: int = 0,
    decoded: DecodedFaces | None = None,
    recorded: RecordedFrames | None = None,
) -> ReplaceFaces | None:
    """What replaces the faces; None for a mask, without surrogates."""
    settings, fitting = session.settings, session.models.fitting
    if surrogates is None:
        return None
    transfer = PaperTransfer(fitting) if settings.transfer == "paper" else None
    return ReplaceFaces(
        fitting,
        surrogates,
        register,
        judge=Looks() if recorded is None else None,
        templates=None if vectors is None else RecognisedTemplates(vectors),
        transfer=transfer,
        copy_eyes=settings.eyes == "original",
        strict=settings.strict,
        first=first,
        decoded=DecodedFaces(fitting, settings.children) if decoded is None else decoded,
        recorded=None if recorded is None else recorded.known,
    )


def _tracker(settings: Settings, size: tuple[int, int] | None, rate: Fraction | None) -> FaceTracker:
    least = float(_LEAST_COAST / rate) if rate else 0.0
    return FaceTracker(coast=max(settings.coast, least), size=size)


def _watch(detect: TimedDetector, found: Detector, tracker: FaceTracker) -> Watch:
    """The detector for one tracker: a scene cut ends its tracks.

    found: the detector that is called: `detect` itself, or one around it.
    """

    def cut() -> None:
        tracker.cut()
        detect.forget()

    def camera(motion: CameraMotion) -> None:
        tracker.moved(motion)
        detect.moved(motion)

    cuts = Cuts()

    def change(levels: Sequence[Plane]) -> Change:
        return Change(cuts(levels), cuts.jumped, cuts.camera)

    return Watch(found, change, cut, detect.search_last, detect.search_all, camera)

"""Settings of a run: every choice that a user has. They are checked before anything starts."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from streamdeid.core.frames import MOST_PIXELS
from streamdeid.core.settings_table import check, setting
from streamdeid.core.square_pixels import read_aspect
from streamdeid.errors import SettingsError
from streamdeid.protect.mask_faces import MASKS
from streamdeid.protect.region import Region, read_region
from streamdeid.surrogates.attributes import ATTRIBUTES, GENDER
from streamdeid.surrogates.choice import LEAST_Q, METHODS, MOST_Q, SAMPLED

ALL_METHODS = (*METHODS, *MASKS)
"""Names for `--method`: synthetic faces first, then masks."""
TRANSFERS = ("recipe", "paper")
"""Names for `--transfer`: the transfer of docs/methods.md 4.0, and the one that is printed in P4."""
EYES = ("drawn", "original")
"""Names for `--eyes`: eyes that are rendered in the surrogate's colours, or the person's own pixels, which leak
(docs/methods.md 4.0)."""
BUILT_IN, DLIB = "built-in", "dlib"
"""Names for `--whitelist-recogniser`, besides the path of an ONNX file."""
LOOK_AHEAD, WHOLE_FILE = "look-ahead", "whole-file"
"""Names for `--decisions`."""
AUTO = "auto"
"""Name for `--pixel-aspect`: the aspect that the stream states."""
LEAST_FACE = 12.0
"""Least value of `min_face`, pixels: pictures are not enlarged for the detector."""
FACES, WHITELIST, ENCODING, FILES = "faces", "whitelist", "encoding", "files"
"""Groups of settings."""
OF_FACES = (
    "k", "q", "preserve", "key_file", "register", "register_days", "transfer", "eyes", "children", "strict", "reentry",
)  # fmt: skip
"""Settings that have no effect where the method is a mask."""
DAYS = 30.0
"""Days for which a register remembers a person, where the user does not say."""
_LARGEST_DISTANCE = 1000


def attributes_of(names: Sequence[str]) -> tuple[str, ...]:
    """The attributes that a user wants to preserve: the names given, or none for "none" alone.

    Raises SettingsError for "none" beside other names. `Settings` refuses a name that is no attribute."""
    given = tuple(name.strip() for name in names if name.strip())
    if "none" in given and len(given) > 1:
        raise SettingsError(f"preserve either none or some attributes, not {', '.join(given)}")
    return () if given == ("none",) else given


@dataclass(frozen=True)
class Settings:
    """Everything that a run depends on besides its inputs; docs/settings.md describes each setting.

    Raises SettingsError, one line, for a value that is not allowed."""

    method: str = setting(SAMPLED, "how a face is protected: a synthetic one, or a mask", FACES, choices=ALL_METHODS)
    k: int = setting(5, "reference faces in a cluster, at most half the gallery", FACES, least=2)
    q: float = setting(
        0.5, "share of possible faces, the nearest, that a person never gets; k-diff-furthest only", FACES,
        least=LEAST_Q, most=MOST_Q,
    )  # fmt: skip
    preserve: tuple[str, ...] = setting(
        (GENDER,), "attributes that a surrogate shares with the person: gender,age or some or none of them; each tells "
        "something, see the report", FACES, metavar="NAMES", commas=True, read=attributes_of, shown=GENDER,
    )  # fmt: skip
    key_file: Path | None = setting(
        None, "secret of 16 bytes or more that makes a run repeatable", FACES,
        shown="fresh random bytes, forgotten at the end",
    )  # fmt: skip
    register: Path | None = setting(
        None, "encrypted file by which people keep their faces over restarts, files and cameras that name it and share "
        "the key file: biometric data", FACES, metavar="FILE", shown="none, and nobody is known in a later run",
    )  # fmt: skip
    register_days: float | None = setting(
        None, "time after which the register forgets who was not seen again", FACES, metavar="DAYS", least=0.0,
        most=3650.0, above=True, unit="days", shown=f"{DAYS:g}",
    )  # fmt: skip
    transfer: str = setting("recipe", "how an expression is carried over", FACES, choices=TRANSFERS)
    eyes: str = setting("drawn", "whose eyes are shown (the person's own leak)", FACES, choices=EYES)
    children: bool = setting(
        False,
        "give everybody a child's face: for cameras that see children; adults get one, too",
        FACES,
    )
    strict: bool = setting(
        False,
        "one colour instead of a soft redaction where no new face is shown: a soft one keeps a coarse tone",
        FACES,
    )
    threshold: float = setting(
        0.5, "evidence from which something counts as a face; lower covers more, false ones too", FACES, metavar="E",
        least=0.0, most=1.0, above=True,
    )  # fmt: skip
    min_face: float | None = setting(
        None, "width of the smallest face looked for", FACES, metavar="PX", least=LEAST_FACE, most=10_000.0,
        unit="pixels", shown="an 80th of the picture's longer side, at least 16",
    )  # fmt: skip
    detector_interval: int = setting(
        32, "frames in which every part of the picture is searched once for small faces; 1 costs most", FACES,
        metavar="N", least=1, most=1000,
    )  # fmt: skip
    survey: float | None = setting(
        None, "time between two looks of a third network at the whole picture, 0 for none: it finds faces that the "
        "detector does not, and what is none; at a large picture it also looks in windows", FACES, metavar="S",
        least=0.0, most=60.0, unit="seconds",
        shown="0.5; 2 without look-ahead; live 0.5 on two processors and more, else 2",
    )  # fmt: skip
    detector_deadline: float = setting(
        10.0, "time after which a detector that does not answer has failed", FACES, metavar="S", least=0.1, most=600.0,
        unit="seconds",
    )  # fmt: skip
    lookahead: float = setting(
        1.0, "time known ahead of what is rendered; live it is added to the latency", FACES, metavar="S", least=0.0,
        most=10.0, unit="seconds", shown="1; live: 0",
    )  # fmt: skip
    decisions: str = setting(
        LOOK_AHEAD, "what is known when it is decided who is who: what the look-ahead saw, or the whole recording, "
        "which is read twice then, in segments that --workers share out", FILES, choices=(LOOK_AHEAD, WHOLE_FILE),
        camera=False,
    )  # fmt: skip
    coast: float = setting(
        1.0, "time for which the predicted place of a lost face stays covered", FACES, metavar="S", least=0.0,
        most=60.0, unit="seconds",
    )  # fmt: skip
    reentry: bool = setting(True, "give who comes back a new face", FACES)
    regions: tuple[Region, ...] = setting(
        (), "fill this area in every frame: pixels of the upright picture as it is stored, or percent as in "
        "0,90%,100%,10%; may be given more than once (--region=-9,... for a negative X)", FACES, metavar="X,Y,W,H",
        option="region", read=lambda texts: tuple(map(read_region, texts)), shown="none",
    )  # fmt: skip
    pixel_aspect: str = setting(
        AUTO, "width of a pixel by its height, upright, from 1:4 to 4:1, as in 16:11, for cameras that say none or a "
        "wrong one; faces are searched for in pixels made square, and the output keeps the input's", FACES,
        metavar="W:H", shown="auto, what the stream says; in the library 1:1",
    )  # fmt: skip
    whitelist: tuple[Path, ...] = setting(
        (), "one face, frontal, 80 pixels wide or more: who is shown there stays unfiltered while recognition is "
        "certain, and is covered in any doubt; a sharp picture by the same camera in the same light serves best, a "
        "blurred one is refused, others mostly lead to redactions. May be given more than once. Strangers who look "
        "much alike can be taken for them", WHITELIST, metavar="PICTURE", shown="nobody",
    )  # fmt: skip
    whitelist_recogniser: str = setting(
        BUILT_IN, f"who recognises them: {BUILT_IN}, {DLIB} (extra `evaluation`; minds light and expression less) or "
        "an .onnx file (112 x 112 RGB, aligned as for ArcFace)", WHITELIST, metavar="NAME",
    )  # fmt: skip
    whitelist_threshold: float | None = setting(
        None, "largest distance that is taken for the same person", WHITELIST, metavar="D", least=0.0,
        most=_LARGEST_DISTANCE, above=True, shown="the recogniser's own; an .onnx file has none",
    )  # fmt: skip
    tolerant: bool = setting(False, "filter damaged files as far as they can be decoded", FILES, camera=False)
    most_pixels: float = setting(
        MOST_PIXELS, "millions of pixels that a picture may have (8K: 33.2 or 35.4); what has more is refused before "
        "memory is taken for it", FILES, metavar="N", least=0.01, most=256.0, unit="million",
    )  # fmt: skip
    codec: str | None = setting(
        None,
        "video encoder, as in libx264, or one in hardware, as in h264_nvenc",
        ENCODING,
        shown="the container's default",
    )
    crf: int | None = setting(
        None, "quality, lower is better", ENCODING, least=0, most=63, shown="the encoder's default"
    )
    preset: str = setting("veryfast", "speed of the encoder, ultrafast to veryslow", ENCODING)
    audio: bool = setting(True, "leave the sound out", FILES, camera=False)
    keep_metadata: bool = setting(False, "keep titles, dates, location, device", FILES, camera=False)
    overwrite: bool = setting(False, "replace an existing output", FILES)
    models: Path | None = setting(
        None, "own models, from `streamdeid train`", FACES, metavar="DIR", shown="those that come with streamdeid"
    )

    def __post_init__(self) -> None:
        check(self)
        unknown = [name for name in self.preserve if name not in ATTRIBUTES]
        if unknown:
            raise SettingsError(f"cannot preserve {unknown[0]!r}; choose from {', '.join(ATTRIBUTES)}")
        if len(set(self.preserve)) < len(self.preserve):
            raise SettingsError(f"an attribute to preserve is named twice: {', '.join(self.preserve)}")
        self._check_children()
        self._check_register()
        if self.pixel_aspect != AUTO:
            try:
                read_aspect(self.pixel_aspect)
            except ValueError as error:
                raise SettingsError(f"pixel aspect {error}, or {AUTO}, not {self.pixel_aspect!r}") from error
        if self.decisions == WHOLE_FILE and self.whitelist:
            raise SettingsError("decisions over the whole file do not know a whitelist; leave one of them out")
        recogniser, threshold = self.whitelist_recogniser, self.whitelist_threshold
        if not self.whitelist and (recogniser != BUILT_IN or threshold is not None):
            raise SettingsError("a recogniser or threshold for the whitelist needs a whitelisted picture")
        if recogniser not in (BUILT_IN, DLIB):
            if not recogniser.endswith(".onnx"):
                raise SettingsError(f"whitelist recogniser is {BUILT_IN}, {DLIB} or an .onnx file, not {recogniser!r}")
            if threshold is None:
                raise SettingsError("an .onnx recogniser for the whitelist needs a whitelist threshold")

    def _check_children(self) -> None:
        if self.children and self.transfer == "paper":
            raise SettingsError("the paper's transfer draws no children: leave out --children or --transfer paper")
        if self.children and "age" in self.preserve:
            raise SettingsError("children's faces preserve no age group of adults: leave out --children or age")

    def _check_register(self) -> None:
        if self.register is None:
            if self.register_days is not None:
                raise SettingsError("days of a register need a register")
            return
        if self.key_file is None:
            raise SettingsError("a register needs a key file: it is encrypted with the key")
        if not self.samples:
            raise SettingsError(f"a register is for the method {SAMPLED}")
        if not self.reentry:
            raise SettingsError("a register gives who comes back the same face, so it needs re-entry")

    @property
    def days_registered(self) -> float:
        """Days for which a register remembers a person."""
        return DAYS if self.register_days is None else self.register_days

    @property
    def given_aspect(self) -> Fraction | None:
        """Width of a pixel divided by its height, as the user gave it; None: as the stream states it."""
        return None if self.pixel_aspect == AUTO else read_aspect(self.pixel_aspect)

    @property
    def synthesises(self) -> bool:
        """True when faces are replaced by synthetic ones, False for a mask."""
        return self.method in METHODS

    @property
    def samples(self) -> bool:
        """True for the method that samples with the key, the only one that uses q."""
        return self.method == SAMPLED

    def unused(self, given: Collection[str]) -> list[str]:
        """The names in `given` of settings that have no effect on the method."""
        nothing = OF_FACES if not self.synthesises else () if self.samples else ("q",)
        return [name for name in nothing if name in given]

    def check_gallery(self, donors: int) -> None:
        """Raise SettingsError unless two clusters of k donors fit into a gallery of `donors`."""
        if self.synthesises and 2 * self.k > donors:
            raise SettingsError(f"k must be from 2 to {donors // 2} (the gallery has {donors} donors), not {self.k}")

    def check_lines(self, most_lines: int | None) -> None:
        """Raise SettingsError for a region in pixels where pictures may be made smaller: it would lie elsewhere.

        most_lines: as in `LiveSettings`."""
        for region in self.regions if most_lines is not None else ():
            if not region.scales:
                raise SettingsError(f"region {region} must be in percent where most-lines may make the picture smaller")

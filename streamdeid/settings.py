"""Settings of a run: every choice a user has, checked before anything starts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from streamdeid.errors import SettingsError
from streamdeid.protect.fixed_regions import Region
from streamdeid.protect.mask_faces import MASKS
from streamdeid.surrogates.attributes import ATTRIBUTES, GENDER
from streamdeid.surrogates.choice import DRAWN, LEAST_Q, METHODS, MOST_Q

ALL_METHODS = (*METHODS, *MASKS)
"""Names for `--method`: synthetic faces first, then masks."""
TRANSFERS = ("recipe", "paper")
"""Names for `--transfer`: METHODS 4.0's, and the one printed in P4."""
EYES = ("drawn", "original")
"""Names for `--eyes`: drawn in the surrogate's colours, or the person's own pixels, which leak (METHODS 4.0)."""
MOST_LOOKAHEAD = 10.0
MOST_COAST = 60.0
BUILT_IN, DLIB = "built-in", "dlib"
"""Names for `--whitelist-recogniser`, besides the path of an ONNX file."""
LEAST_FACE = 12.0
"""Pixels below which no face is looked for: pictures are not enlarged for the detector."""
MOST_FACE = 10_000.0
MOST_INTERVAL = 1000
LEAST_DEADLINE, MOST_DEADLINE = 0.1, 600.0
_LARGEST_CRF = 63
_LARGEST_DISTANCE = 1000


@dataclass(frozen=True)
class Settings:
    """Everything a run depends on besides its inputs. Raises SettingsError, one line, for a value out of range."""

    method: str = DRAWN
    """One of `ALL_METHODS`."""
    k: int = 5
    """Donors in a cluster, from 2 to half the gallery (`check_gallery`). Masks do not use it."""
    q: float = 0.5
    """Share of the possible faces, the nearest, that a person never gets; 0.1 to 0.6. `k-diff-furthest` only."""
    preserve: tuple[str, ...] = (GENDER,)
    """Attributes that a surrogate shares with the person; each tells something. Masks do not use it."""
    key_file: Path | None = None
    """Secret bytes that make a run repeatable; None: fresh random bytes for each file, forgotten at its end."""
    transfer: str = "recipe"
    """How an expression is laid onto a surrogate, one of `TRANSFERS`."""
    eyes: str = "drawn"
    """Whose eyes are shown, one of `EYES`."""
    strict: bool = False
    """Whether faces that show no synthetic one get a solid redaction, not a soft one, which keeps a coarse tone."""
    threshold: float = 0.5
    """Evidence from which something counts as a face, above 0 and at most 1. Lower covers more, false ones too."""
    min_face: float | None = None
    """Width in pixels of the smallest face looked for, `LEAST_FACE` to `MOST_FACE`; None: 16, or an 80th of the longer
    side of the picture where that is more."""
    detector_interval: int = 32
    """Frames within which every part of the picture is searched for small faces, 1 to `MOST_INTERVAL`; what was found
    is followed in every frame."""
    detector_deadline: float = 10.0
    """Seconds after which a detector that does not answer has failed; `LEAST_DEADLINE` to `MOST_DEADLINE`."""
    lookahead: float = 1.0
    """Seconds that a face is studied before it is first shown; 0 to `MOST_LOOKAHEAD`."""
    coast: float = 1.0
    """Seconds for which the predicted place of a lost face stays covered; 0 to `MOST_COAST`."""
    reentry: bool = True
    """Whether a person who left and comes back gets the same surrogate."""
    regions: tuple[Region, ...] = ()
    """Areas of the upright picture that are filled in every frame."""
    whitelist: tuple[Path, ...] = ()
    """Pictures of one face each, of people who stay unfiltered while recognition is certain."""
    whitelist_recogniser: str = BUILT_IN
    """Who recognises them: `BUILT_IN`, `DLIB`, or the path of an ONNX file (112 x 112 RGB, ArcFace alignment)."""
    whitelist_threshold: float | None = None
    """Largest distance that is taken for the same person; None: the recogniser's own. An ONNX file has none."""
    tolerant: bool = False
    """Whether a damaged input is filtered as far as it can be decoded, instead of refused."""
    codec: str | None = None
    """Video encoder; None: the output container's default."""
    crf: int | None = None
    """Quality, lower is better; None: the encoder's default. The sink knows each encoder's own range."""
    preset: str = "veryfast"
    """Speed of the encoder."""
    audio: bool = True
    """Whether sound is copied."""
    keep_metadata: bool = False
    """Whether container metadata that can identify (location, device, author) is kept."""
    overwrite: bool = False
    """Whether an existing output may be replaced."""
    models: Path | None = None
    """Directory with `aam.npz`, `gallery.npz` and `SHA256`; None: those that come with streamdeid."""

    def __post_init__(self) -> None:
        if self.method not in ALL_METHODS:
            raise SettingsError(f"unknown method {self.method!r}; choose one of {', '.join(ALL_METHODS)}")
        if self.k < 2:
            raise SettingsError(f"k must be at least 2, not {self.k}")
        if not LEAST_Q <= self.q <= MOST_Q:
            raise SettingsError(f"q must be from {LEAST_Q} to {MOST_Q}, not {self.q:g}")
        unknown = [name for name in self.preserve if name not in ATTRIBUTES]
        if unknown:
            raise SettingsError(f"cannot preserve {unknown[0]!r}; choose from {', '.join(ATTRIBUTES)}")
        if len(set(self.preserve)) < len(self.preserve):
            raise SettingsError(f"an attribute to preserve is named twice: {', '.join(self.preserve)}")
        if self.transfer not in TRANSFERS:
            raise SettingsError(f"unknown transfer {self.transfer!r}; choose one of {', '.join(TRANSFERS)}")
        if self.eyes not in EYES:
            raise SettingsError(f"unknown eyes {self.eyes!r}; choose one of {', '.join(EYES)}")
        if not 0 < self.threshold <= 1:
            raise SettingsError(f"threshold must be above 0 and at most 1, not {self.threshold:g}")
        _check_seconds("detector deadline", self.detector_deadline, MOST_DEADLINE, LEAST_DEADLINE)
        if self.min_face is not None and not LEAST_FACE <= self.min_face <= MOST_FACE:
            raise SettingsError(f"min-face must be from {LEAST_FACE:g} to {MOST_FACE:g} pixels, not {self.min_face:g}")
        if not 1 <= self.detector_interval <= MOST_INTERVAL:
            raise SettingsError(f"detector-interval must be from 1 to {MOST_INTERVAL}, not {self.detector_interval}")
        _check_seconds("lookahead", self.lookahead, MOST_LOOKAHEAD)
        _check_seconds("coast", self.coast, MOST_COAST)
        self._check_whitelist()
        if self.crf is not None and not 0 <= self.crf <= _LARGEST_CRF:
            raise SettingsError(f"crf must be from 0 to {_LARGEST_CRF}, not {self.crf}")

    def _check_whitelist(self) -> None:
        recogniser, threshold = self.whitelist_recogniser, self.whitelist_threshold
        if not self.whitelist and (recogniser != BUILT_IN or threshold is not None):
            raise SettingsError("a recogniser or threshold for the whitelist needs a whitelisted picture")
        if threshold is not None and not 0 < threshold <= _LARGEST_DISTANCE:
            raise SettingsError(f"whitelist threshold must be above 0, at most {_LARGEST_DISTANCE}, not {threshold:g}")
        if recogniser not in (BUILT_IN, DLIB):
            if not recogniser.endswith(".onnx"):
                raise SettingsError(f"whitelist recogniser is {BUILT_IN}, {DLIB} or an .onnx file, not {recogniser!r}")
            if threshold is None:
                raise SettingsError("an .onnx recogniser for the whitelist needs a whitelist threshold")

    @property
    def synthesises(self) -> bool:
        """True when faces are replaced by synthetic ones, False for a mask."""
        return self.method in METHODS

    @property
    def draws(self) -> bool:
        """True for the method that draws with the key, the only one that q belongs to."""
        return self.method == DRAWN

    def check_gallery(self, donors: int) -> None:
        """Raise SettingsError unless two clusters of k fit into a gallery of `donors`."""
        if self.synthesises and 2 * self.k > donors:
            raise SettingsError(f"k must be from 2 to {donors // 2} (the gallery has {donors} donors), not {self.k}")


def attributes_of(names: Sequence[str]) -> tuple[str, ...]:
    """The attributes to preserve that a user names: a list, or "none" alone. Raises SettingsError for "none" and more;
    what no attribute is, `Settings` refuses."""
    given = tuple(name.strip() for name in names if name.strip())
    if "none" in given and len(given) > 1:
        raise SettingsError(f"preserve either none or some attributes, not {', '.join(given)}")
    return () if given == ("none",) else given


def _check_seconds(name: str, value: float, most: float, least: float = 0.0) -> None:
    if not (math.isfinite(value) and least <= value <= most):
        raise SettingsError(f"{name} must be from {least:g} to {most:g} seconds, not {value:g}")

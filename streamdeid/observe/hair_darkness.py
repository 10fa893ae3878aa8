"""How dark a person's hair is, by the frames whose landmarks are on the face."""

from __future__ import annotations

from dataclasses import dataclass

FLOOR = 8.0
"""Grey levels added before logarithms are taken of hair and of skin: dark pixels are mostly noise."""
_NEWEST = 0.05
"""Weight of the newest frame in the running mean, as soon as there are enough for that."""


@dataclass
class HairDarkness:
    """The darkness of one tracklet's hair, as a running mean."""

    mean: float | None = None
    """Natural log of the brightness of the darkest above the forehead over the skin's; None before anything was seen.
    0 where nothing darker than the skin was seen: light hair, or none."""
    _frames: int = 0

    def see(self, hair: float | None) -> None:
        """Take in what a frame shows (`Observation.hair`) in which the place above the forehead is seen."""
        self._frames += 1
        hair, mean = hair or 0.0, self.mean or 0.0
        self.mean = mean + max(_NEWEST, 1 / self._frames) * (hair - mean)

"""The motion of synthetic people: speech, smiles, blinks, glances and turns of the head as functions of time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from streamdeid.core.arrays import Points

_OPENING = 27.0
"""Distance between the lips of a wide open mouth, in pixels of the model's frame."""
_SMILE = 11.0
_BROWS = 6.0
_TURN = 0.42
"""Largest turn of the head, in radians."""
_LOWER_LIP = {
    48: 0.1,
    54: 0.1,
    55: 0.55,
    56: 0.95,
    57: 1.0,
    58: 0.95,
    59: 0.55,
    60: 0.1,
    64: 0.1,
    65: 0.9,
    66: 1.0,
    67: 0.9,
}
"""How far each point moves with the lower lip, as a share."""
_JAW = {3: 0.1, 4: 0.25, 5: 0.45, 6: 0.62, 7: 0.72, 8: 0.75, 9: 0.72, 10: 0.62, 11: 0.45, 12: 0.25, 13: 0.1}
_UPPER_LIP = {49: 0.06, 50: 0.12, 51: 0.13, 52: 0.12, 53: 0.06, 61: 0.15, 62: 0.16, 63: 0.15}
_CORNERS = {
    48: (-1.0, -0.75),
    60: (-0.9, -0.7),
    54: (1.0, -0.75),
    64: (0.9, -0.7),
    49: (-0.6, -0.35),
    53: (0.6, -0.35),
    59: (-0.6, -0.25),
    55: (0.6, -0.25),
    67: (-0.35, -0.1),
    65: (0.35, -0.1),
    61: (-0.3, -0.15),
    63: (0.3, -0.15),
}
"""Direction in which a smile pulls each point."""
_LIDS = ((37, 41), (38, 40), (43, 47), (44, 46))


@dataclass(frozen=True)
class PersonMotion:
    """One person's motion over n frames; all arrays are float64 (n,), unless said otherwise."""

    opening: Points
    """Opening of the mouth, 0 to 1."""
    smile: Points
    blink: Points
    brows: Points
    gaze: Points
    """(n, 2): shift of the irises in pixels of the model's frame."""
    yaw: Points
    pitch: Points
    roll: Points
    shift: Points
    """(n, 2): sway of the body in pixels of the model's frame."""

    def shape(self, neutral: Points, index: int) -> Points:
        """The neutral shape (81, 2) with the expression of a frame."""
        shape = neutral.copy()
        drop, smile = _OPENING * self.opening[index], _SMILE * self.smile[index]
        for weights in (_LOWER_LIP, _JAW):
            for point, weight in weights.items():
                shape[point, 1] += weight * drop
        for point, weight in _UPPER_LIP.items():
            shape[point, 1] -= weight * drop
        for point in (48, 54, 60, 64):  # an open mouth is a little narrower
            shape[point, 0] += 0.12 * drop * (1 if point in (48, 60) else -1)
        for point, (x, y) in _CORNERS.items():
            shape[point] += smile * np.array([x, y])
        shape[17:27, 1] -= _BROWS * self.brows[index]
        for upper, lower in _LIDS:
            gap = shape[lower] - shape[upper]
            closed = self.blink[index] + 0.18 * self.smile[index] * (1 - self.blink[index])
            shape[upper] += 0.85 * closed * gap
            shape[lower] -= 0.13 * closed * gap
        return shape

    def rotation(self, index: int) -> Points:
        """The turn, nod and tilt of the head in a frame as a rotation, float64 (3, 3), as in `HeadPose`."""
        yaw, pitch, roll = (float(track[index]) for track in (self.yaw, self.pitch, self.roll))
        turn = np.array([[np.cos(yaw), 0, np.sin(yaw)], [0, 1, 0], [-np.sin(yaw), 0, np.cos(yaw)]])
        nod = np.array([[1, 0, 0], [0, np.cos(pitch), np.sin(pitch)], [0, -np.sin(pitch), np.cos(pitch)]])
        tilt = np.array([[np.cos(roll), -np.sin(roll), 0], [np.sin(roll), np.cos(roll), 0], [0, 0, 1]])
        rotated: Points = tilt @ nod @ turn
        return rotated


def motion(frames: int, rate: int, number: int, rng: np.random.Generator) -> PersonMotion:
    """The motion of person `number` over `frames` frames at `rate` per second."""
    time = np.arange(frames) / rate
    talking = _held(0.5 + 1.4 * _wave(time, 0.45, rng))
    syllables = _held(0.42 + 0.75 * _wave(time, 4.2, rng))
    phase = 2 * np.pi * number / 3
    return PersonMotion(
        opening=talking * syllables,
        smile=_held(0.25 + 0.8 * _wave(time, 0.5, rng)),
        blink=_blinks(time, rng),
        brows=_held(0.2 + 0.7 * _wave(time, 0.7, rng), -0.3),
        gaze=np.stack([3.2 * _wave(time, 0.8, rng), 0.9 * _wave(time, 0.8, rng)], axis=1),
        yaw=_TURN * np.sin(2 * np.pi * time / 4.2 + phase) * (0.75 + 0.25 * _wave(time, 0.4, rng)),
        pitch=0.09 * _wave(time, 0.6, rng),
        roll=0.06 * _wave(time, 0.5, rng),
        shift=np.stack([7.0 * _wave(time, 0.35, rng), 3.0 * _wave(time, 0.5, rng)], axis=1),
    )


def _wave(time: Points, frequency: float, rng: np.random.Generator) -> Points:
    """A smooth random signal about 0, mostly between -1 and 1, that oscillates about `frequency` times per second."""
    total = np.zeros(len(time))
    for part in (0.7, 1.0, 1.43):
        total += np.sin(2 * np.pi * (part * frequency * time + rng.random()))
    return total / 2.0


def _blinks(time: Points, rng: np.random.Generator) -> Points:
    """The closing of the eyes: quick blinks, about one every two seconds."""
    closed = np.zeros(len(time))
    at = 0.4 + 0.8 * rng.random()
    while len(time) and at < time[-1]:
        closed = np.maximum(closed, _held(1.35 - np.abs(time - at) / 0.085))
        at += 1.4 + 1.4 * rng.random()
    return closed


def _held(signal: Points, least: float = 0.0) -> Points:
    """A signal kept between `least` and 1."""
    held: Points = np.clip(signal, least, 1.0)
    return held

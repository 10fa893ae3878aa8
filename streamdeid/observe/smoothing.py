"""Smoothing in parameter space: the One-Euro filter (Casiez, Roussel & Vogel 2012) on pose and on frontal points.

Slow motion is smoothed (no shimmer), fast motion passes (no lag): the cut-off grows with speed.
"""

from __future__ import annotations

import numpy as np

from streamdeid.aam.pose import HeadPose
from streamdeid.core.arrays import Points
from streamdeid.core.camera_motion import CameraMotion

_LEVER = 100.0
"""Pixels of the model's frame that a radian, or a factor of e in scale, moves a point at the rim of the face."""


class OneEuro:
    """Filter of a vector whose entries share one unit."""

    def __init__(self, cutoff: float, per_speed: float, speed_cutoff: float = 3.0) -> None:
        """cutoff: hertz at rest; per_speed: hertz added for each unit per second."""
        self._cutoff, self._per_speed, self._speed_cutoff = cutoff, per_speed, speed_cutoff
        self._value: Points | None = None
        self._speed: Points | None = None
        self._time = 0.0

    def __call__(self, value: Points, time: float) -> Points:
        """Filtered value at a time in seconds; times do not decrease."""
        if self._value is None or self._speed is None:
            self._value, self._speed = value.copy(), np.zeros_like(value)
        elif time > self._time:
            step = time - self._time
            raw = (value - self._value) / step
            self._speed = self._speed + _share(self._speed_cutoff, step) * (raw - self._speed)
            # The faster of the filtered and the present speed, so that the onset of a blink is not smoothed away.
            speed = np.maximum(np.abs(self._speed), 0.5 * np.abs(raw))
            self._value = self._value + _share(self._cutoff + self._per_speed * speed, step) * (value - self._value)
        self._time = time
        return self._value.copy()

    def moved(self, by: Points) -> None:
        """Shift all values by an amount that has a known reason, so that nothing of it is smoothed away."""
        if self._value is not None:
            self._value = self._value + by

    @property
    def value(self) -> Points | None:
        """The last filtered value; None before the first one."""
        return self._value


class FaceSmoother:
    """Smooths the pose and the frontal points of one track."""

    def __init__(self) -> None:
        self._pose = OneEuro(6.0, 0.8)
        self._points = OneEuro(10.0, 1.5)

    def carried(self, camera: CameraMotion) -> None:
        """Account for a motion of the camera before the next frame."""
        value = self._pose.value
        if value is None:
            return
        scale = float(np.exp(value[0] / _LEVER))
        place = value[1:3] * scale
        now = camera(place) / (scale * camera.scale)
        turn = np.array([0.0, 0.0, -_LEVER * camera.angle])
        self._pose.moved(np.concatenate([[_LEVER * np.log(camera.scale)], now - value[1:3], turn]))

    def __call__(self, pose: HeadPose, frontal: Points, time: float) -> tuple[HeadPose, Points]:
        """Smoothed pose and frontal points (81, 2) at a time in seconds."""
        vector = np.concatenate(
            [[_LEVER * np.log(pose.scale)], pose.shift / pose.scale, _LEVER * _angles(pose.rotation)]
        )
        smooth = self._pose(vector, time)
        scale = float(np.exp(smooth[0] / _LEVER))
        steady = HeadPose(scale, _rotation(smooth[3:] / _LEVER), smooth[1:3] * scale)
        return steady, self._points(frontal.ravel(), time).reshape(-1, 2)


def _share(cutoff: Points | float, step: float) -> Points:
    rate = 2 * np.pi * np.asarray(cutoff) * step
    share: Points = rate / (rate + 1)
    return share


def _angles(rotation: Points) -> Points:
    """Yaw, pitch and roll such that rotation = turn(roll) @ tilt(pitch) @ swing(yaw)."""
    pitch = np.arcsin(np.clip(-rotation[2, 1], -1, 1))
    yaw = np.arctan2(rotation[2, 0], rotation[2, 2])
    roll = np.arctan2(rotation[0, 1], rotation[1, 1])
    return np.array([yaw, pitch, roll])


def _rotation(angles: Points) -> Points:
    yaw, pitch, roll = angles
    swing = np.array([[np.cos(yaw), 0, -np.sin(yaw)], [0, 1, 0], [np.sin(yaw), 0, np.cos(yaw)]])
    tilt = np.array([[1, 0, 0], [0, np.cos(pitch), np.sin(pitch)], [0, -np.sin(pitch), np.cos(pitch)]])
    turn = np.array([[np.cos(roll), np.sin(roll), 0], [-np.sin(roll), np.cos(roll), 0], [0, 0, 1]])
    whole: Points = turn @ tilt @ swing
    return whole

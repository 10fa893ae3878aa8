"""Faces, frames and edits out of numbers, for the tests of the files."""

from __future__ import annotations

from dataclasses import fields, replace
from fractions import Fraction
from pathlib import Path

import numpy as np

from streamdeid.analysis.edits import (
    AnotherSurrogate,
    CoverPerson,
    CoverPlace,
    CoverRegion,
    Edits,
    JoinPersons,
    PartPerson,
    RemoveRedaction,
    Rendered,
    ShowPerson,
    Span,
)
from streamdeid.analysis.records import (
    AnalysisEnd,
    AnalysisHeader,
    ChosenSurrogate,
    FrameRecord,
    RecordedDecision,
    Side,
)
from streamdeid.analysis.stored_faces import points_from_mesh, stored
from streamdeid.analysis.write_analysis import AnalysisWriter
from streamdeid.core.faces import Face, Keypoints

HEADER = AnalysisHeader(
    input=Side("ab" * 32, 12_345),
    width=640,
    height=360,
    rate=Fraction(30_000, 1001),
    settings={
        "threshold": 0.5,
        "method": "k-diff-furthest",
        "k": 10,
        "strict": False,
        "regions": ("1,2,3,4",),
        "q": None,
    },
    model_sha256="cd" * 32,
    gallery_sha256="",
)
END = AnalysisEnd(
    {1: ChosenSurrogate("female", 2), 7: ChosenSurrogate("", 0), 8: ChosenSurrogate("either", 1, 12)},
    Side("ef" * 32, 99),
    "0123456789abcdef",
    provisional={12: ChosenSurrogate("either", 1, 12), 13: ChosenSurrogate("either", 0, 13)},
)


def made_face(rng: np.random.Generator, width: float = 80.0, x: float = 100.0, y: float = 50.0) -> Face:
    """A face with all its parts, those of its mesh, and keypoints a little beside it."""
    angles = np.linspace(0, 2 * np.pi, 468, endpoint=False)
    radius = width / 2 * np.sqrt(np.linspace(0.01, 1, 468))
    mesh = np.column_stack([x + radius * np.cos(angles), y + radius * np.sin(angles), radius - width / 2])
    mesh += rng.normal(0, width / 2000, mesh.shape)
    points = points_from_mesh(mesh)
    low, high = points[:, :2].min(axis=0), points[:, :2].max(axis=0)
    return Face(
        box=(float(low[0]), float(low[1]), float(high[0]), float(high[1])),
        score=float(rng.uniform()),
        landmarks=points[:68, :2],
        forehead=points[68:, :2],
        iris=rng.normal((x, y), width / 10, (2, 5, 2)),
        presence=float(rng.uniform()),
        depth=points[:, 2],
        evidence=float(rng.uniform()),
        mesh=mesh,
        keypoints=made_keypoints(rng, width, x, y),
        surveyed=float(rng.uniform(0, 4)),
    )


def made_keypoints(rng: np.random.Generator, width: float = 80.0, x: float = 100.0, y: float = 50.0) -> Keypoints:
    """Keypoints of a face about a place."""
    half = 0.4 * width
    five = (x, y) + half * np.array([[-0.4, -0.3], [0.4, -0.3], [0.0, 0.1], [-0.3, 0.5], [0.3, 0.5]])
    box = x - half, y - 1.2 * half, x + half, y + 1.2 * half
    return Keypoints(box, five + rng.normal(0, width / 200, (5, 2)), float(rng.uniform()))


def made_record(rng: np.random.Generator, number: int, faces: int) -> FrameRecord:
    """A frame with some faces, of which the last comes of nothing, and a lost one."""
    found = [made_face(rng, 40.0 + 30 * i, 100.0 + 120 * i + number, 80.0) for i in range(faces)]
    decisions = [
        RecordedDecision(
            i + 1, i + 1, i + 1, ("own face", "soft redaction")[i % 2], "", face.box, face.box, i, 0, i == 1, i == 0
        )
        for i, face in enumerate(found[:-1])
    ]
    lost = RecordedDecision(
        9, 0, 0, "soft redaction", "doubt", (-3.5, 2.25, 40.0, 41.0), (0.0, 1.0, 2.0, 3.0), None, 3, False, True,
        (30.3, 41.7) if number % 3 else None, True,
    )  # fmt: skip
    return FrameRecord(Fraction(number * 1001, 30_000), number // 20, found, [*decisions, lost])


def write_recording(path: Path, frames: int = 70, faces: int = 3) -> list[FrameRecord]:
    """Write an analysis, and say what should be in it."""
    rng = np.random.default_rng(frames)
    records = [made_record(rng, number, number % (faces + 1)) for number in range(frames)]
    with AnalysisWriter(path, HEADER, overwrite=True) as writer:
        for record in records:
            writer.add(record)
        writer.close(END)
    return records


def assert_same_face(one: Face, other: Face) -> None:
    """Two faces are the same to the bit."""
    _assert_same(replace(one, keypoints=None), replace(other, keypoints=None))
    assert (one.keypoints is None) == (other.keypoints is None)
    if one.keypoints is not None and other.keypoints is not None:
        _assert_same(one.keypoints, other.keypoints)


def _assert_same(one: Face | Keypoints, other: Face | Keypoints) -> None:
    for field in fields(one):
        first, second = getattr(one, field.name), getattr(other, field.name)
        if isinstance(first, np.ndarray):
            assert isinstance(second, np.ndarray) and first.dtype == second.dtype, field.name
            assert first.shape == second.shape and (first == second).all(), field.name
        else:
            assert first == second, field.name


def assert_kept(record: FrameRecord, read: FrameRecord) -> None:
    """A frame that was read is what is kept of one."""
    assert (read.time, read.scene) == (record.time, record.scene)
    assert len(read.found) == len(record.found) and len(read.decisions) == len(record.decisions)
    for one, other in zip(record.found, read.found, strict=True):
        assert_same_face(stored(one), other)
    for made, kept in zip(record.decisions, read.decisions, strict=True):
        for field in fields(RecordedDecision):
            first, second = getattr(made, field.name), getattr(kept, field.name)
            if field.name in ("box", "place"):
                assert all(0 <= a - b < 1 / 64 for a, b in zip(first[:2], second[:2], strict=True))
                assert all(0 <= b - a < 1 / 64 for a, b in zip(first[2:], second[2:], strict=True))
            elif field.name == "sides" and first is not None:
                assert all(0 <= b - a < 1 / 64 for a, b in zip(first, second, strict=True))
            else:
                assert first == second and type(first) is type(second), field.name


EDITS = Edits(
    input_sha256="ab" * 32,
    frames=70,
    done=(
        ShowPerson(3, Span(0, None)),
        CoverPerson(3, Span(4, 9)),
        CoverPlace(1, ((2, (1.5, 2.0, 30.25, 40.0)),), 1, ((1.0, 2.0, 3.0, 4.1), (1.5, 2.0, 30.25, 40.0))),
        RemoveRedaction(5, Span(69, 69)),
        JoinPersons(1, 2),
        PartPerson(1, 30, 12),
        AnotherSurrogate(4),
        CoverRegion((-5.0, 0.0, 100.0, 20.0), Span(0, 69)),
    ),
    undone=(AnotherSurrogate(1),),
    looked_at=("short track 3", "gap in 4"),
    reviewer="Zoë",
    reviewed="2026-11-23T01:00:00Z",
    rendered=Rendered("12" * 32, (), "34" * 32),
    places_sha256="56" * 32,
)

"""What does a new face cost when it is first shown? Surrogates decoded, one after another, in this process.

    python -m benchmarks new_face [--faces 40] [--json]

CPU milliseconds of `NewFace.of` for surrogates that the filter chooses for the gallery's first donors: least, middle
and most. Each person's is decoded once, and kept. Bar: 40 ms in the middle; exit code 1 when it is missed, as on a
machine that is busy, whose CPU times are longer.
"""

from __future__ import annotations

import statistics
import time

import cv2

from benchmarks.clips import KEY, as_json, markdown
from benchmarks.command_line import parser_of
from streamdeid.render.new_face import NewFace
from streamdeid.runs.session import open_session
from streamdeid.settings import Settings

BAR = 40.0


def measured(faces: int) -> dict[str, float]:
    """Milliseconds of CPU for so many faces: least, middle, most."""
    session = open_session(Settings(), KEY)
    models, choice = session.models, session.surrogates()
    assert choice is not None
    vectors = [choice.surrogate(number, y).vector for number, y in enumerate(models.gallery.identities[:faces])]
    NewFace.of(vectors[0], models.fitting)  # what is made once for a model
    spent = []
    for vector in vectors:
        begun = time.process_time()
        NewFace.of(vector, models.fitting)
        spent.append(1000 * (time.process_time() - begun))
    return {"least": min(spent), "middle": statistics.median(spent), "most": max(spent)}


def main(argv: list[str]) -> int:
    """Run; the exit code."""
    parser = parser_of(__name__, __doc__)
    parser.add_argument("--faces", type=int, default=40, help="decoded (%(default)s)")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    given = parser.parse_args(argv)
    if given.faces < 1:
        parser.error("one face at least")
    cv2.setNumThreads(1)  # as the filter does
    found = measured(given.faces)
    print(as_json(found) if given.json else markdown(["a new face, CPU ms", "value"], list(found.items())))
    return int(found["middle"] > BAR)

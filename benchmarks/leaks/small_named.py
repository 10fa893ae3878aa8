"""Who is named by own faces as small as surveillance cameras show them?

    python -m benchmarks small_named FACES [--people FILE.csv] [--widths 16 22] [--keys 4] [--json]

FACES holds sets of photographs: london (the donors) and canada (people whom the model never saw). These photographs are
turned small, published by the default method with gender kept, and looked for in a gallery that is turned small alike:
the very photographs, among 142 people. With --people (as `evaluate attacks` takes it) other photographs of the same
people, too. Beside it: the photographs as they are, and with the face's hull in black. Each cell: share named at the
first try, and true accepts at a false accept rate of 1e-2, with 95 % limits. The recognisers are those of `evaluate
attacks`, and the landmarks those of the original.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from benchmarks.clips import as_json, markdown
from benchmarks.command_line import parser_of, positive
from streamdeid.aam.photographs import Photograph, listed, read_photograph, reduced
from streamdeid.lab.picture_attacks.attack_pictures import WIDTH
from streamdeid.lab.picture_attacks.laboratory import Subjects, described, key_of, known_to
from streamdeid.lab.picture_attacks.other_photographs import people_rows, read_people
from streamdeid.lab.picture_attacks.picture_sets import PictureSet, black_hull, originals, published
from streamdeid.lab.picture_attacks.posed_faces import small
from streamdeid.lab.picture_attacks.scores import score
from streamdeid.lab.recognisers import NamedRecogniser, recognisers
from streamdeid.runs.parts import photograph_detector, still_detector
from streamdeid.surrogates.models import Models, load_models
from streamdeid.surrogates.surrogate import SAMPLED

_SEED = 826


def sets_of(photographs: Sequence[Photograph], models: Models, keys: int) -> Iterator[tuple[str, PictureSet]]:
    """The photographs as they are, with black hulls, and published under so many keys."""
    yield "as they are", originals(photographs, "as they are")
    yield "black hull", black_hull(photographs)
    own = published(
        photographs, models.fitting, models.gallery, SAMPLED, [key_of(i) for i in range(keys)], preserve=("gender",)
    )
    if own.refused:
        raise SystemExit(f"{own.refused} of {keys * len(photographs)} pictures were refused")
    yield "own face", own


def rows_of(
    attackers: Sequence[NamedRecogniser], sets: Mapping[str, PictureSet], known: Sequence[Photograph]
) -> Iterator[dict[str, str]]:
    """What each attacker names of each set of photographs of one size."""
    for attacker in attackers:
        held = known_to(attacker, known)
        for name, given in sets.items():
            cells = score(described(attacker, given), given.people, held, np.random.default_rng(_SEED)).cells()
            yield {"recogniser": attacker.name, "pictures": name, "rank-1": cells[0], "1e-2": cells[2]}


def main(argv: list[str]) -> int:
    """Attack and print; the exit code."""
    parser = parser_of(__name__, __doc__)
    parser.add_argument("faces", type=Path)
    parser.add_argument("--people", type=Path)
    parser.add_argument("--widths", type=float, nargs="+", default=[16.0, 22.0], metavar="PX")
    parser.add_argument("--keys", type=positive, default=4)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args(argv)
    models = load_models()
    with contextlib.closing(still_detector()) as detector:
        detect = photograph_detector(detector)

        def read(name: str) -> list[Photograph]:
            found = (read_photograph(p, f"{name}/{p.stem}", e, detect) for e, p in listed(arguments.faces / name))
            return [reduced(one, WIDTH) for one in found if one is not None]

        subjects = Subjects(tuple(read("canada")), tuple(read("london")))
        sides = [("the very ones", subjects.unseen, subjects.known)]
        if arguments.people is not None:
            people = read_people(people_rows(arguments.people), arguments.faces, detect)
            held = tuple(reduced(one, WIDTH) for one in people.held)
            filtered = tuple(reduced(one, WIDTH) for one in people.filtered)
            sides.append(("other ones", filtered, (*held, *subjects.neutral_donors)))
        gallery = originals(subjects.known, "gallery")
        attackers, _ = recognisers((gallery.pictures, gallery.landmarks), models.fitting.model, detect, None)
        rows = [
            {"width": f"{width:g}", "photographs": note, **row}
            for width in arguments.widths
            for note, some, known in sides
            for row in rows_of(
                attackers, dict(sets_of(small(some, width), models, arguments.keys)), small(known, width)
            )
        ]
    print(as_json(rows) if arguments.json else markdown(list(rows[0]), [list(row.values()) for row in rows]))
    return 0

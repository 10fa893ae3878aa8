"""P5, "Preserving Privacy by De-identifying Face Images" (Newton, Sweeney, Malin 2005), repeated on our photographs.

Figure 6 is the threshold (a) and the grey noise (b), figure 7b k-Same; the rest of section 5 is text. FERET is
replaced by what there is: London (neutral), Canada, IMM, and LFPW to fill up.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from streamdeid.aam.photographs import NEUTRAL, Photograph
from streamdeid.core.arrays import Floats
from streamdeid.errors import InputError
from streamdeid.lab.papers.ad_hoc_masks import TOLERANCE, ad_hoc_masks
from streamdeid.lab.papers.k_same_recognition import k_same_recognition
from streamdeid.lab.papers.registered_faces import registered_faces
from streamdeid.lab.tables import Chapter

MASKED_PEOPLE = 200
K_SAME_PEOPLE = 805
"""Faces of P5's two experiments."""
NAMED_SETS = ("london", "canada", "imm37")
FILLING_SET = "lfpw/trainset"

Reader = Callable[[str], list[Photograph]]


def reproduce(photographs: Reader, out: Path, *, quick: bool, progress: Callable[[float, str], None]) -> Chapter:
    """The chapter of P5. `photographs` gives a set by its name under faces/; plots are written into `out`.

    quick: k-Same on the 200 faces of the masks, few thresholds, noise levels and runs. `progress` is told the share
    done, 0 to 1, and what is being done. Raises InputError when there are too few faces, OutputError for the plots.
    """
    progress(0.0, "P5: registering faces")
    named = [p for name in NAMED_SETS for p in photographs(name) if p.expression == NEUTRAL]
    filling = photographs(FILLING_SET)
    masked = face_set(named, filling, MASKED_PEOPLE)
    masks = ad_hoc_masks(masked, out, quick=quick, report=_part(progress, 0.05, 0.4))
    many = masked if quick else face_set(named, filling, K_SAME_PEOPLE)
    tables, verdicts, plots = k_same_recognition(
        many.reshape(len(many), -1),
        out,
        runs=2 if quick else 20,
        all_attacks=1 if quick else 3,
        report=_part(progress, 0.4, 1.0),
    )
    progress(1.0, "P5")
    text = _TEXT.format(
        masked=len(masked),
        many=len(many),
        named=min(len(named), len(masked)),
        filled=len(masked) - min(len(named), len(masked)),
        filled_many=len(many) - min(len(named), len(many)),
        points=round(100 * TOLERANCE),
    )
    return Chapter(
        "preserving-privacy",
        "P5: masks and k-Same (Newton, Sweeney, Malin 2005)",
        text,
        (*masks.tables, *tables),
        (*masks.verdicts, *verdicts),
        (*masks.plots, *plots),
    )


def face_set(named: Sequence[Photograph], filling: Sequence[Photograph], count: int) -> Floats:
    """Registered faces (n, 134, 99): the named people, then as many of the filling as make `count`, or all there are.

    LFPW lies in order of names in places, so those taken are spread over all of it. Raises InputError below four faces.
    """
    first = list(named[:count])
    missing = min(count - len(first), len(filling))
    spread = np.linspace(0, len(filling) - 1, missing).round().astype(int)
    chosen = [*first, *(filling[int(i)] for i in spread)]
    if len(chosen) < 4:
        raise InputError(f"{len(chosen)} faces are too few to attack masks and k-Same: at least 4 are needed")
    return registered_faces(chosen)


def _part(progress: Callable[[float, str], None], start: float, stop: float) -> Callable[[float, str], None]:
    def report(share: float, text: str) -> None:
        progress(start + share * (stop - start), f"P5: {text}")

    return report


_TEXT = """\
Grey faces of 99 x 134 pixels, registered by eyes and mouth, in place of FERET. Masks: {masked} faces, one of each
person, {named} from London, Canada and IMM, {filled} from LFPW. k-Same: {many} faces, {filled_many} of them from LFPW,
which may hold a person more than once (it does hold some actors several times): P5's claim is about sets with one
picture of each person, and every LFPW picture counts as a person here. The recogniser is Eigenfaces with all
components and Euclidean distances unless said otherwise; P5 keeps "the most important" without a number.

The attacks are P5's: naive (gallery and training original, probes masked), reverse (gallery masked, probes original),
parrot (everything masked). Shares that P5 prints are expected again within {points} points. What
P5 argues does not hang on them: that masks fall to the parrot, and that k-Same does not fall to any of the three.
"""

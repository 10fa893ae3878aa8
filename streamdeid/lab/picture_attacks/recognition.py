"""Chapter: who is recognised in published pictures, by which recogniser, beside the controls (A1, A12, A13).

The controls decide whether the run says anything: unaltered photographs must be recognised, shuffled labels must be at
chance. Their verdicts begin with "control:", and a run with one of them missed has failed.
"""

from __future__ import annotations

from collections.abc import Mapping

from streamdeid.identity.picture_recognisers import DlibResnet
from streamdeid.lab.picture_attacks.laboratory import (
    BLACK_HULL,
    CONTROLS,
    JPEG_AGAIN,
    OTHER_PHOTOGRAPH,
    PAPER,
    SHUFFLED,
)
from streamdeid.lab.picture_attacks.picture_sets import PictureSet
from streamdeid.lab.picture_attacks.scores import COLUMNS, Score
from streamdeid.lab.tables import Chapter, ClaimVerdict, Table, limits, percent
from streamdeid.surrogates.choice import SAMPLED

_ACCEPTED = 0.05
"""A threshold for one impostor in a hundred may accept so many strangers among people who look more alike."""
_POINTS = 0.02
"""The default may lie so far above the black hull."""
_TEXT = """\
Probes: faces of people whom the model never saw, published by the stream's own parts under several keys. Gallery: the \
unaltered neutral photographs of the same people and of the donors, {gallery} people; chance is {chance}. The very \
photograph that was de-identified lies in the gallery, and the attacker is given its landmarks (the refitted model \
finds its own): the worst case on purpose. \
Thresholds for the acceptance rates come from unaltered photographs of different people. Limits: 95 %, by resampling \
people; exact ones where nobody or everybody was hit. "From another photograph" are the donors: their smiling \
photographs published, against their neutral ones. The model was trained on them, and the certificate wants some \
donor nearer to P than the person, so read those rows as a contrast of the methods only. Of people at the same \
distance none counts as named."""


def recognition_chapter(
    by_recogniser: Mapping[str, Mapping[str, Score]],
    sets: Mapping[str, PictureSet],
    gallery: int,
    missing: tuple[str, ...],
    onnx: str | None,
) -> Chapter:
    """The chapter, from the scores of each recogniser by set. gallery: people in it; onnx: name of the user's own."""
    text = _TEXT.format(gallery=gallery, chance=percent(1 / gallery))
    text += "".join(f"\n\n{line}" for line in missing)
    refused = [f"{name}: {given.refused}" for name, given in sets.items() if given.refused]
    if refused:
        text += f"\n\nPictures that a method refused to publish (failed closed): {', '.join(refused)}."
    tables = tuple(_table(name, scores, sets) for name, scores in by_recogniser.items())
    verdicts: list[ClaimVerdict] = []
    for name, scores in by_recogniser.items():
        deep = name in (DlibResnet.name, onnx)
        verdicts += _controls(name, scores, 1 / gallery, deep)
        if deep:
            verdicts += _bars(name, scores, 1 / gallery)
    verdicts += [ClaimVerdict(f"{SAMPLED} against a deep recogniser", "measured", line, False) for line in missing]
    return Chapter("recognition", "Recognition of published pictures", text, tables, tuple(verdicts))


def _table(name: str, scores: Mapping[str, Score], sets: Mapping[str, PictureSet]) -> Table:
    order = [*(each for each in CONTROLS if each in scores), *(each for each in scores if each not in CONTROLS)]
    rows = [(f"control: {each}" if each in CONTROLS else each, *scores[each].cells()) for each in order]
    lost = [each for each in sets if each not in scores]
    note = f"No picture could be used by this recogniser: {', '.join(lost)}." if lost else ""
    return Table(name, ("pictures", *COLUMNS), tuple(rows), note)


def _controls(name: str, scores: Mapping[str, Score], chance: float, deep: bool) -> list[ClaimVerdict]:
    """Unaltered photographs are recognised; shuffled labels are at chance."""
    found = []
    for claim, expected, wanted, holds in (
        (f"control: {name} recognises the unaltered photograph", "rank-1 at least 95 %", JPEG_AGAIN,
         lambda rank_1, _: rank_1.value >= 0.95),
        (f"control: {name} with shuffled labels names people at chance", f"rank-1 limits around {percent(chance, 2)}",
         SHUFFLED, lambda rank_1, _: rank_1.low <= chance <= rank_1.high),
        (f"control: {name} with shuffled labels accepts few at FAR 1e-2", f"at most {percent(_ACCEPTED)}", SHUFFLED,
         lambda _, accepted: accepted.value <= _ACCEPTED),
    ):  # fmt: skip
        if wanted not in scores:
            found.append(ClaimVerdict(claim, expected, "not measured", False))
            continue
        rank_1, accepted = scores[wanted].rank_1, scores[wanted].tar_2
        measured = limits(accepted if "accepts" in claim else rank_1)
        found.append(ClaimVerdict(claim, expected, measured, bool(holds(rank_1, accepted))))
    if OTHER_PHOTOGRAPH in scores:
        other = scores[OTHER_PHOTOGRAPH].rank_1
        least = 0.9 if deep else 10 * chance
        found.append(
            ClaimVerdict(f"control: {name} recognises another photograph", f"rank-1 at least {percent(least)}",
                    limits(other), other.value >= least)
        )  # fmt: skip
    return found


def beside_black_hull(name: str, method: str, scores: Mapping[str, Score], accepts: str) -> list[ClaimVerdict]:
    """Whether a method's rank-1 and its accepts at a FAR of 1e-2, in these words, are within 2 points of a black
    hull's."""
    return beside(name, (method, scores[method]), ("the black hull", scores[BLACK_HULL]), accepts)


def beside(name: str, ours: tuple[str, Score], floor: tuple[str, Score], accepts: str) -> list[ClaimVerdict]:
    """Whether rank-1 and accepts at a FAR of 1e-2, in these words, of what is named first are within 2 points of those
    of what is named second."""
    (method, here), (control, under) = ours, floor
    return [
        ClaimVerdict(
            f"{name}: {what} of {method} within 2 points of {control}",
            f"at most {percent(least.value + _POINTS)}",
            limits(found),
            found.value <= least.value + _POINTS,
        )
        for what, found, least in (("rank-1", here.rank_1, under.rank_1), (accepts, here.tar_2, under.tar_2))
    ]


def _bars(name: str, scores: Mapping[str, Score], chance: float) -> list[ClaimVerdict]:
    ours = scores[SAMPLED]
    found = beside_black_hull(name, SAMPLED, scores, "TAR at FAR 1e-2")
    found.append(
        ClaimVerdict(
            f"{name}: no true accept of {SAMPLED} at FAR 1e-3",
            f"0 of {ours.probes}",
            f"{ours.accepts_3} of {ours.probes}",
            ours.accepts_3 == 0,
        )
    )
    if PAPER in scores:
        paper = scores[PAPER].rank_1
        found.append(
            ClaimVerdict(
                f"{name}: {PAPER} is re-identified well above chance",
                f"lower limit of rank-1 above {percent(3 * chance)} (three times chance)",
                limits(paper),
                paper.low > 3 * chance,
            )
        )
    return found

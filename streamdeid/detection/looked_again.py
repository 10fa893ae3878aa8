"""Looks again: two networks judge a place where a face is expected but the detector saw none.

In recordings a frame waits for a second before it is rendered. If a face is then known to come, or to come back, its
place in the frames before is known, too (`tracking.lookahead`), and two networks are asked about that place. Most often
nobody is there yet, or the head is turned away: a redaction there would show where no face is. Where the networks see
a face, it is treated like any other face, with keypoints to pose a surrogate by: the third network's where that is
sure, and no other is needed then.

Of 1,432 such places in ten clips 209 hold a face that nothing else covers, by labels or by an independent detector. At
these bars 193 of them stay covered (141 of 154 in the five clips that chose the bars, 52 of 55 in the five others),
with what is within a tenth of a second of a sighting; of the 1,223 that hold none 928 (docs/methods.md 8.4).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from streamdeid.core.arrays import Box
from streamdeid.core.faces import NO_FACE, Face, Keypoints
from streamdeid.core.frames import Planes
from streamdeid.detection.close_look import CloseLook
from streamdeid.detection.five_points import as_detected
from streamdeid.detection.second_look import SecondLook

_SEEN = 0.5
"""Score from which points belong to a face, if the third network does not deny it: the bar of the second network's own
library, and the third's own bar (`CloseLook.keypoints`)."""
_NOT_DENIED = 0.5
"""The third network's opinion of a place (score over its bar) from which it does not deny a face. Of 48 places where
the second network saw a face at `_SEEN`, 3 were none by eye (a helmet twice, a back), all of them below this."""
_PERHAPS, _PERHAPS_THIRD = 0.3, 0.6
"""The score of points, or the third network's opinion, from which there may be a face."""


def look_again(
    look: SecondLook, close: CloseLook | None, planes: Planes, box: Box, others: Sequence[Box], turns: Iterable[float]
) -> Face | None:
    """The face that the networks see in a box (pixels) after the first of these quarter turns (`upright_turn`) in which
    they see one; None where they see none in any. others: boxes of other faces, pixels. close: the third network, if it
    runs. Where it is sure of a face, that has its points."""
    for turn in dict.fromkeys(turns):
        points = look.keypoints(planes, box, others, turn)
        # anyway: else a None ("perhaps a face") would hide half a picture before a large person comes into view.
        opinion = None if close is None else close(planes, box, turn, anyway=True, others=others)
        if close is not None and opinion is not None and opinion >= NO_FACE:
            points = close.keypoints(planes, box, turn, others) or points
        if (found := looked_again(box, points, opinion)) is not None:
            return found
    return None


def looked_again(box: Box, points: Keypoints | None, opinion: float | None) -> Face | None:
    """The face in a box (pixels), None where there is none, and a face without keypoints where there may be one.

    points: what the second or the third network sees there. opinion: the third network's score over its bar; None: too
    dark to say.
    """
    score = 0.0 if points is None else points.score
    if points is not None and score >= _SEEN and (opinion is None or opinion >= _NOT_DENIED):
        return Face(as_detected(points.box), score, evidence=score, keypoints=points, surveyed=opinion, again=True)
    if opinion is None or score >= _PERHAPS or opinion >= _PERHAPS_THIRD:
        return Face(box, score, evidence=score, surveyed=opinion, again=True)
    return None

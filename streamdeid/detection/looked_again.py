"""Looking again: what two networks say of a place where a face is expected that the detector did not see.

In recordings a frame waits for a second before it is rendered. Where a face is then known to come, or to come back, its
place in the frames before is known, too (`tracking.lookahead`), and two networks are asked about that very place. Most
often nobody is there yet, or the head is turned away: a redaction would hang in the air. Where they see a face, it is
one like any other, with keypoints to pose a new face by.

Of 1,432 such places in ten clips 209 hold a face that nothing else covers, by labels or by an independent detector. At
these bars 193 of them are covered on (141 of 154 in the five clips that chose the bars, 52 of 55 in the five others),
with what is within a tenth of a second of a sighting; of the 1,223 that hold none 928 (docs/methods.md 8.4).
"""

from __future__ import annotations

from streamdeid.core.arrays import Box
from streamdeid.core.faces import Face, Keypoints
from streamdeid.detection.five_points import as_detected

_SEEN = 0.5
"""Score from which the second network's points are a face's, if the third one does not deny it: the library's own
bar."""
_NOT_DENIED = 0.5
"""What the third network says of a place, over its bar, from which it does not deny a face. Of 48 places where the
second one saw a face at `_SEEN` 3 were none by eye (a helmet twice, a back), all of them below."""
_PERHAPS, _PERHAPS_THIRD = 0.3, 0.6
"""The second network's score, or what the third one says, from which there may be a face."""


def looked_again(box: Box, points: Keypoints | None, opinion: float | None) -> Face | None:
    """The face in a box, pixels, by what the second network sees there, and the third one says: over its bar, None
    where it is too dark to say. Without keypoints where there may be one only, None where there is none."""
    score = 0.0 if points is None else points.score
    if points is not None and score >= _SEEN and (opinion is None or opinion >= _NOT_DENIED):
        return Face(as_detected(points.box), score, evidence=score, keypoints=points, surveyed=opinion, again=True)
    if opinion is None or score >= _PERHAPS or opinion >= _PERHAPS_THIRD:
        return Face(box, score, evidence=score, surveyed=opinion, again=True)
    return None

"""The guarantee of a method, in the words of docs/methods.md 3.5; it is printed in every report."""

from __future__ import annotations

from streamdeid.surrogates.choice import SAMPLED

_NOT_COVERED = (
    "This does not cover: the motion, pose, gaze, lighting and skin tone that we keep; the outline "
    "of the face, the inside of an open mouth and, where they are copied, the eyes; hair, ears, neck, body, "
    "clothes, voice, place and time; frames where detection fails (those it lost a face in are counted in this "
    "report); people with access to the key, the memory of the running process, or the original stream."
)
_PROVISIONAL = (
    "Somebody who has to be shown before the own face was measured gets one that is drawn without knowing it, and "
    "keeps that unless he is recognised as somebody who has one: for such a face the factor is 1, whatever attributes "
    "are preserved, but it is not tested, so it may be one of the nearest."
)
_WHITELISTED = (
    "Whitelisted people are not protected: wherever they were recognised their own faces are shown. Nor is a stranger "
    "who was taken for one of them; that is rare, but no recogniser excludes it."
)
_KNOWN_PEOPLE = (
    "Its promise is about nearest-neighbour matching in one metric, in a closed gallery of one picture per person. It "
    "does not bound what another recogniser, a look-alike gallery or somebody who knows the reference gallery can do."
)
_MAPS = {
    "k-diff-furthest-paper": (
        "The surrogate is the map of the paper (Sun, Meng, Ariyaeeinia), frozen per person: it carries the person's "
        "own residual, and attacks that know the gallery re-identify most people by it. Use it as a baseline only."
    ),
    "k-same-furthest": (
        "The surrogate is the centroid of the cluster of reference faces far from the person's own face (Meng, Sun "
        "2014); people of one cluster share it, so it tells little, but it does not tell people apart either."
    ),
    "k-same-m": (
        "The surrogate is the centroid of the reference faces nearest to the person's own (Gross et al. 2006); it "
        "looks like the person more than a drawn face would."
    ),
}
_MASKS = {
    "blackout": "The face's rectangle is black: nothing of its pixels is left, and nothing of its expression.",
    "blur": "Blurred faces are recognised by an attacker who blurs his own photographs in the same way.",
    "pixelate": "More than 99 % of pixelated faces are recognised by an attacker who pixelates his own photographs.",
    "bar": "Every face with a bar over its eyes is recognised by an attacker who masks his own photographs.",
    "t-mask": "Every face under a T mask is recognised by an attacker who masks his own photographs.",
    "noise": "Faces under partial noise are recognised by an attacker who adds it to his own photographs.",
    "threshold": "Faces in black and white are recognised by an attacker who thresholds his own photographs.",
}


def guarantee(
    method: str, *, q: float, factor: float, worst_bits: float, classes: int = 1, whitelisted: int = 0
) -> str:
    """The guarantee of a method, and what it does not cover.

    factor: `Surrogates.factor`; worst_bits: leakage of the rarest class of the preserved attributes; classes: how many
    there are; whitelisted: how many pictures were given of people who stay unprotected.
    """
    promise = _promise(method, q=q, factor=factor, worst_bits=worst_bits, classes=classes)
    return f"{promise} {_WHITELISTED}" if whitelisted else promise


def _promise(method: str, *, q: float, factor: float, worst_bits: float, classes: int) -> str:
    if method in _MASKS:
        return f"{_MASKS[method]} {_NOT_COVERED}"
    if method != SAMPLED:
        return f"{_MAPS[method]} {_KNOWN_PEOPLE} {_NOT_COVERED}"
    leakage = ""
    if worst_bits:
        leakage = (
            f" The preserved attributes come on top: faces are drawn from {classes} distributions, one for each class, "
            f"so the factor is at most {factor * classes:.2f}, on average over people too. Of somebody of the rarest "
            f"class they tell {worst_bits:.2f} bits, for whom the factor is at most {factor * 2**worst_bits:.2f}."
        )
    return (
        "The pseudonym face P of each person is drawn at random with a secret key, from a distribution built only from "
        f"the reference gallery; apart from avoiding the nearest fraction q = {q:g} of possible faces around the "
        "person's own estimated face, and faces already in use, it does not depend on the person. Therefore, looking "
        "at P alone, an attacker with any recogniser, gallery or computing power raises his chance of naming the "
        f"person, on average over the draws, by a factor of at most {factor:.2f}.{leakage} {_PROVISIONAL} "
        f"{_NOT_COVERED}"
    )

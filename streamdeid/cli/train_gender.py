"""Learns the rule for gender from photographs, with the models or for models that are there.

The rule can be learnt anew while the identity space and the donors stay bit for bit: a training from the beginning
gives other components as soon as anything that finds landmarks has changed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from streamdeid.aam.appearance_model import AppearanceModel
from streamdeid.aam.photographs import photograph_of
from streamdeid.aam.train import Annotate, Sample, identity_of_sample
from streamdeid.aam.variations import filmed, variation
from streamdeid.core.arrays import Points
from streamdeid.errors import InputError
from streamdeid.surrogates.gallery import Gallery, GenderRule
from streamdeid.surrogates.gender_rule import can_learn, learn_gender, rightness

VARIATIONS, _VARIED = 24, 2014
"""Number of variations of each photograph from which gender is learnt, and their seed."""


def with_rule_anew(
    gallery: Gallery, model: AppearanceModel, samples: Mapping[Path, Sample], neutral: Sequence[Path], detect: Annotate
) -> Gallery:
    """A gallery whose rule is learnt from photographs of its donors, who are those of `neutral`, in order.

    Raises InputError where the photographs are not those of the donors, or where these do not state two genders.
    """
    if len(neutral) != len(gallery.identities):
        raise InputError(f"{len(neutral)} neutral photographs are not those of {len(gallery.identities)} donors")
    for row, path in enumerate(neutral):
        y = identity_of_sample(samples[path], model)
        if int(np.linalg.norm(gallery.identities - y, axis=1).argmin()) != row:
            raise InputError(f"{path} is not the photograph of donor {row + 1} of these models")
    rule = gender_rule_of(samples, neutral, gallery.gender.tolist(), model, detect)
    if rule is None:
        raise InputError("the donors of these models do not state two genders, of two people or more each")
    return replace(gallery, gender_rule=rule)


def gender_rule_of(
    samples: Mapping[Path, Sample],
    neutral: Sequence[Path],
    genders: Sequence[str],
    model: AppearanceModel,
    detect: Annotate,
) -> GenderRule | None:
    """Learn the rule for gender from all photographs of each person and variations of them; None where that cannot be
    (`can_learn`).

    genders: of the people of the neutral photographs, empty where not stated.
    """
    if not can_learn(genders):
        return None
    own: dict[str, list[Points]] = {path.stem: [] for path in neutral}
    for number, (path, given) in enumerate(samples.items()):
        if path.stem not in own:
            continue
        own[path.stem].append(identity_of_sample(given, model))
        width = float(np.ptp(given.points[:, 0]))
        for which in range(VARIATIONS):
            rng = np.random.default_rng((_VARIED, number, which))
            seen = photograph_of(filmed(given.image, width, rng), path.stem, path.parent.name, detect)
            if seen is not None:  # as in the darkest and smallest of them
                own[path.stem].append(variation(seen.sample, model, rng))
    people = [np.stack(own[path.stem]) for path in neutral]
    return learn_gender(people, genders, len(model.shape_variances))


def gender_fact(rule: GenderRule | None, genders: Sequence[str]) -> str:
    """Text for the card: how often the rule is right about people whom it was not learnt from."""
    if rule is None:
        return "not learnt: the donors do not state two genders, of two people or more each"
    shares = (rightness(rule, genders, name) for name in rule.names.tolist())
    told = (
        f"{name} right {right:.1%}, undecided {neither:.1%}, wrong {wrong:.1%}"
        for name, (right, neither, wrong) in zip(rule.names.tolist(), shares, strict=True)
    )
    return (
        f"of people left out of the rule that judged them, with up to {VARIATIONS} variations of each photograph in "
        f"size, sharpness, noise, colour, light and turn: {'; '.join(told)}"
    )

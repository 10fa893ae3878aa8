"""What a de-identifier is asked for is what `plan.Deidentifier` declares, and a mask has nothing else."""

from __future__ import annotations

import pytest

from streamdeid.protect.edited import Edited
from streamdeid.protect.fixed_regions import FixedRegions
from streamdeid.protect.mask_faces import MaskFaces
from streamdeid.protect.plan import Deidentifier
from streamdeid.protect.replace_faces import ReplaceFaces
from streamdeid.protect.whitelist import Whitelist

VERBS = {"observe", "settle", "decide", "render"}


def public(kind: type) -> set[str]:
    return {name for name in vars(kind) if not name.startswith("_")}


def test_the_interface_is_the_four_verbs() -> None:
    assert public(Deidentifier) == VERBS


@pytest.mark.parametrize("kind", [ReplaceFaces, MaskFaces, Whitelist, FixedRegions, Edited])
def test_every_de_identifier_has_it(kind: type) -> None:
    assert public(kind) >= VERBS


def test_a_mask_has_no_member_that_does_nothing_but_stand_in_for_those_of_persons() -> None:
    assert public(MaskFaces) == VERBS

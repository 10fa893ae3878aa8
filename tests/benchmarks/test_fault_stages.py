"""The stages in which `faults` lets memory run short are there."""

from __future__ import annotations

import operator
from importlib import import_module

import pytest

from benchmarks.faults.elsewhere import _STAGES


@pytest.mark.parametrize("stage", sorted(_STAGES))
def test_a_stage_is_there_to_fail(stage: str) -> None:
    module, name = _STAGES[stage]
    assert callable(operator.attrgetter(name)(import_module(f"streamdeid.{module}")))

"""Kernels that processes compile beside each other: what the list names, and that nobody waits in vain."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import pytest

from streamdeid.core.kernel_cache import KernelCache
from streamdeid.runs import compiled_beside
from streamdeid.runs.compiled_beside import listed, signature_of

LINES = Path(compiled_beside.__file__).with_name("kernels.txt").read_text(encoding="ascii").splitlines()


def test_each_line_names_a_kernel_and_the_types_of_its_arguments() -> None:
    assert len(listed()) == len(LINES) > 40
    for line, one in zip(LINES, listed(), strict=True):
        kernel = getattr(import_module(one.module), one.name)
        assert isinstance(kernel._cache, KernelCache)
        assert len(one.signature) == kernel.py_func.__code__.co_argcount
        assert line == f"{one.size} {one.module} {one.name} {one.signature!r}"


@pytest.mark.parametrize("text", ["int64", "(print(1),)", "(no_type,)", "(int64.bitwidth,)", "(Array,)"])
def test_what_is_no_signature_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="no "):
        signature_of(text)


def test_where_no_process_can_be_had_nobody_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*words: object, **more: object) -> None:
        raise OSError

    monkeypatch.setattr(compiled_beside.subprocess, "Popen", fails)
    monkeypatch.setattr(compiled_beside, "_missing", lambda: [one.module for one in listed()])
    monkeypatch.setattr(compiled_beside, "processors", lambda: 2)
    told: list[str] = []
    kernel = getattr(import_module(listed()[0].module), listed()[0].name)
    compiled_beside._Beside(told.append).wait_for(kernel._cache, "none")
    assert told == ["compiling for this machine, which is done once"]

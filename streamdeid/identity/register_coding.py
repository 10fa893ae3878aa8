"""A register as bytes, and back: the plain text of the encrypted file.

The bytes are: a length (4 bytes, little endian), that many bytes of JSON, then the templates of all people (float32)
and their surrogates (float64, so that a face is the same to the bit), row by row in the order of their numbers.

Only somebody who has the key can have written the bytes that are read here. They are checked all the same: they may
come from a version that was never released, or from a machine with a fault.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from streamdeid.analysis.strict_json import Fields, Unfit, number, parsed, whole
from streamdeid.identity.registered import MOST_PEOPLE, PeopleRegister, RegisteredPerson

_LENGTH = struct.Struct("<I")
_KEYS = ("made_by", "days", "following", "template", "surrogate", "people")
_OF_PERSON = ("number", "frames", "label", "first", "last", "beside")
_MOST_DAYS = 36600
_WIDEST = 4096
"""Most numbers in a template or a surrogate."""
MOST_BYTES = 1 << 26
"""Most bytes of a register: twice what 2,000 people with everything take."""
_LARGEST = 1e9
_LATEST = 1 << 40
"""Latest time, seconds: no clock shows a later one."""


def encoded(register: PeopleRegister) -> bytes:
    """The bytes of a register."""
    people = [register.people[one] for one in sorted(register.people)]
    head = {
        "made_by": dict(register.made_by),
        "days": register.days,
        "following": register.following,
        "template": len(people[0].template) if people else 0,
        "surrogate": len(people[0].surrogate) if people else 0,
        "people": [
            {**{name: getattr(one, name) for name in _OF_PERSON[:-1]}, "beside": sorted(one.beside)} for one in people
        ],
    }
    text = json.dumps(head, allow_nan=False, separators=(",", ":")).encode()
    templates = np.array([one.template for one in people], "<f4")
    surrogates = np.array([one.surrogate for one in people], "<f8")
    return _LENGTH.pack(len(text)) + text + templates.tobytes() + surrogates.tobytes()


def decoded(data: bytes) -> PeopleRegister:
    """The register that some bytes hold. Raises Unfit, in words for the user."""
    if len(data) < _LENGTH.size:
        raise Unfit("it is cut off")
    (length,) = _LENGTH.unpack_from(data)
    if len(data) > MOST_BYTES or length > len(data) - _LENGTH.size:
        raise Unfit("it is cut off, or larger than any register")
    start = _LENGTH.size + length
    head = Fields(parsed(data[_LENGTH.size : start]), "the register", _KEYS)
    rows = head.list_of("people", lambda value, where: Fields(value, where, _OF_PERSON), MOST_PEOPLE)
    template, surrogate = (head.whole(name, 1 if rows else 0, _WIDEST) for name in ("template", "surrogate"))
    if len(data) - start != len(rows) * (4 * template + 8 * surrogate):
        raise Unfit("its vectors are not as long as it says")
    middle = start + 4 * len(rows) * template
    templates = _matrix(data[start:middle], "<f4", len(rows))
    surrogates = _matrix(data[middle:], "<f8", len(rows))
    following = head.whole("following", 1)
    people: dict[int, RegisteredPerson] = {}
    for row, own, face in zip(rows, templates, surrogates, strict=True):
        person = _person(row, own, face, following)
        if person.number <= max(people, default=0):
            raise Unfit("its people are not in order")
        people[person.number] = person
    days = number(head["days"], "the register: days", _MOST_DAYS)
    if days <= 0 or any(one.beside - people.keys() for one in people.values()):
        raise Unfit("the register does not fit together")
    return PeopleRegister(_made_by(head["made_by"]), days, following, people)


def _person(
    row: Fields, template: NDArray[np.float64], surrogate: NDArray[np.float64], following: int
) -> RegisteredPerson:
    last = row.whole("last", 0, _LATEST)
    return RegisteredPerson(
        number=row.whole("number", 1, following - 1),
        template=template,
        frames=row.whole("frames", 1, 1 << 20),
        surrogate=surrogate,
        label=row.text("label"),
        first=row.whole("first", 0, last),
        last=last,
        beside=frozenset(row.list_of("beside", lambda value, where: whole(value, where, 1), MOST_PEOPLE)),
    )


def _matrix(data: bytes, kind: str, rows: int) -> NDArray[np.float64]:
    """A matrix of bytes, float64 (rows, n). Raises Unfit for values that are not finite, or too large for a face."""
    found = np.frombuffer(data, kind).astype(np.float64).reshape(rows, -1 if rows else 0)
    if not (np.abs(found) <= _LARGEST).all():
        raise Unfit("a vector of it is no numbers")
    return found


def _made_by(value: object) -> Mapping[str, str]:
    if not isinstance(value, dict) or not all(isinstance(one, str) and len(one) <= 200 for one in value.values()):
        raise Unfit("the register does not say what it was made by")
    return value

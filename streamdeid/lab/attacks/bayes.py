"""The optimal attacker of methods.md 2.2: he knows the key's bank and what the session took for everybody's identity.

A drawn surrogate is any of the candidates that are allowed for the person, with equal probability. So all he can learn
from it is for whom it would have been allowed; they are equally likely, and he names one of them. No recogniser can do
better with one surrogate, on average; whatever else an attack reaches must stay below this up to sampling error.

What he does not use: that surrogates of one session keep apart (condition ii), which needs all of them at once.
"""

from __future__ import annotations

import numpy as np

from streamdeid.core.arrays import Flags, Vectors
from streamdeid.errors import SettingsError
from streamdeid.lab.attacks.publish import PeoplePublisher
from streamdeid.lab.attacks.scoring import Scored
from streamdeid.surrogates.choice import SAMPLED, SurrogateSettings


def suspects(publisher: PeoplePublisher, seen: Vectors, published: Vectors, key: bytes) -> Flags:
    """Who may be behind each surrogate: bool (n, n), row = surrogate, column = person, from the bank drawn again.

    seen and published (n, d); rows of nan have no suspects. Raises SettingsError when the method does not draw or the
    surrogates are not from the bank of this key.
    """
    if publisher.method != SAMPLED:
        raise SettingsError(f"{publisher.method} does not draw its surrogates")
    session = publisher.session(key)
    bank = session.bank
    assert bank is not None  # a publisher preserves no attributes
    q = (publisher.settings or SurrogateSettings()).q
    place = {candidate.tobytes(): row for row, candidate in enumerate(bank.candidates)}
    made = np.flatnonzero(np.isfinite(published).all(axis=1))
    try:
        rows = [place[published[row].tobytes()] for row in made]
    except KeyError:
        raise SettingsError("the surrogates are not from the bank of this key") from None
    result = np.zeros((len(published), len(seen)), dtype=np.bool_)
    for column, y in enumerate(seen):
        result[made, column] = bank.allowed(y, q, session.limits.donor_margin)[0][rows]
    return result


def named_by(mask: Flags) -> Scored:
    """The chance to name the right one of each row's suspects (n, n): 1 / suspects, not a throw of dice."""
    count = mask.sum(axis=1)
    own = np.diagonal(mask)
    first, five = (
        np.where(count > 0, own * np.minimum(1.0, rank / np.maximum(count, 1)), np.nan) for rank in (1.0, 5.0)
    )
    return Scored(first, five, 1.0 / mask.shape[1])


def gain(allowed: Flags) -> float:
    """By how much a surrogate raises the chance to name one of n people, all as likely before. allowed bool (n, m):
    which of the m candidates each may get; each is shown with the same probability."""
    given = allowed / allowed.sum(axis=1, keepdims=True)
    return float(given.max(axis=0).sum())


def gain_of_provisional(allowed: Flags, *, tested: bool) -> float:
    """The same of somebody who was shown by a provisional surrogate first. tested: whether it was replaced by one of
    the allowed where it is none; else everybody keeps it. What is seen then is either the one, or both."""
    size = allowed.shape[1]
    if not tested:
        return gain(np.ones_like(allowed))
    share = 1.0 / (size * allowed.sum(axis=1))
    replaced = np.zeros((size, size))
    for mask, probability in zip(allowed, share, strict=True):
        replaced[np.ix_(~mask, mask)] = np.maximum(replaced[np.ix_(~mask, mask)], probability)
    return float(allowed.any(axis=0).mean() + replaced.sum())

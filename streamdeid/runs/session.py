"""The session of a run: settings, models, key and register, opened and checked once and handed on as one value.

All streams and files of a run get the same session, and processes that work for it get the key's bytes. So the key
file is read once (it may be a pipe), an error in any of them is reported once, and code that only builds parts need not
know where they come from.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property

from streamdeid.identity.person_recogniser import PersonRecogniser, load_person_recogniser
from streamdeid.identity.register import FUSED, Distances, recognised
from streamdeid.runs.register_file import RegisterFile, open_register, private_key
from streamdeid.settings import Settings
from streamdeid.surrogates.choice import Surrogates, SurrogateSettings
from streamdeid.surrogates.key import read_key_file
from streamdeid.surrogates.models import Models, load_models

_SELF_TEST_BANK = 256
"""Candidates for the surrogate of the self-test's person. A whole bank, of a class that no other person may have,
takes a fifth of a second."""


@dataclass(frozen=True)
class Session:
    """Settings that the models allow, with the models, the key and the register that they name."""

    settings: Settings
    models: Models
    key: bytes | None = field(default=None, repr=False)
    """None: each choice of surrogates uses fresh random bytes."""
    register: RegisterFile | None = None
    """The register of people that runs share; None without one."""

    def surrogates(self) -> Surrogates | None:
        """A new `Surrogates`, which chooses them for one stream; None for a mask. Raises SettingsError."""
        return self._surrogates() if self.settings.synthesises else None

    @cached_property
    def recogniser(self) -> PersonRecogniser | None:
        """The recogniser of people; None for a mask, or where its weights are missing. Raises ModelError."""
        return load_person_recogniser() if self.settings.synthesises else None

    @property
    def distances(self) -> Distances:
        """The distances between templates that decide who is the same person. Raises ModelError."""
        return FUSED if self.recogniser is None else recognised(self.recogniser)

    @cached_property
    def self_test_surrogates(self) -> Surrogates | None:
        """What chooses the surrogate of the self-test's person; None for a mask. Raises SettingsError."""
        return self._surrogates(_SELF_TEST_BANK) if self.settings.synthesises else None

    def _surrogates(self, bank_size: int | None = None) -> Surrogates:
        asked = self.settings
        chosen = SurrogateSettings(method=asked.method, k=asked.k, q=asked.q, preserve=asked.preserve)
        if bank_size is not None:
            chosen = replace(chosen, bank_size=bank_size)
        return Surrogates(self.models.gallery, self.models.fitting.model.variances, chosen, self.key)


def open_session(settings: Settings, key: bytes | None = None) -> Session:
    """Load the models, read the key, and open the register, which is made where there is none.

    key: the key itself; None: the key in the key file, if there is one. Raises SettingsError, ModelError, and for the
    register InputError and OutputError.
    """
    if key is None:
        key = secret(settings)
    session = session_without_register(settings, key)
    return replace(session, register=open_register(settings, session.models, key))


def session_without_register(settings: Settings, key: bytes | None = None) -> Session:
    """A session for a process that recognises nobody, as one that is given all surrogates or hands the work on.

    key: None for no key; no key file is read. Raises SettingsError and ModelError."""
    models = load_models(settings.models)
    settings.check_gallery(len(models.gallery.identities))
    return Session(settings, models, key)


def secret(settings: Settings) -> bytes | None:
    """The bytes of the key file, or None. Raises SettingsError."""
    read = read_key_file if settings.register is None else private_key
    return None if settings.key_file is None else read(settings.key_file)

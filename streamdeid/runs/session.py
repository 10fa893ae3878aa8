"""What a run opens and checks once, and hands on as one value: settings, models, key and register.

Every stream, file and process of a run gets the same session, so that the key file is read once, what is wrong with
any of them is said once, and nothing that only builds parts needs to know where they came from.
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
"""Candidates for the drawn person of the self-test. A whole bank, of a class that nobody else may have, takes a fifth
of a second."""


@dataclass(frozen=True)
class Session:
    """Settings that the models allow, and what they name."""

    settings: Settings
    models: Models
    key: bytes | None = field(default=None, repr=False)
    """None: each choice of surrogates has fresh random bytes."""
    register: RegisterFile | None = None
    """People whom runs share; None without."""

    def surrogates(self) -> Surrogates | None:
        """What chooses surrogates for one stream, new; None for a mask. Raises SettingsError."""
        return self._surrogates() if self.settings.synthesises else None

    @cached_property
    def recogniser(self) -> PersonRecogniser | None:
        """What people are recognised by; None for a mask, or without its weights. Raises ModelError."""
        return load_person_recogniser() if self.settings.synthesises else None

    @property
    def distances(self) -> Distances:
        """How alike templates are that are one person's. Raises ModelError."""
        return FUSED if self.recogniser is None else recognised(self.recogniser)

    @cached_property
    def self_test_surrogates(self) -> Surrogates | None:
        """What the drawn person of self-tests gets a face from; None for a mask. Raises SettingsError."""
        return self._surrogates(_SELF_TEST_BANK) if self.settings.synthesises else None

    def _surrogates(self, bank_size: int | None = None) -> Surrogates:
        asked = self.settings
        chosen = SurrogateSettings(method=asked.method, k=asked.k, q=asked.q, preserve=asked.preserve)
        if bank_size is not None:
            chosen = replace(chosen, bank_size=bank_size)
        return Surrogates(self.models.gallery, self.models.fitting.model.variances, chosen, self.key)


def open_session(settings: Settings, key: bytes | None = None) -> Session:
    """Load the models, read the key, and open the register, which is made where there is none.

    key: the key itself; None: that of the key file, or none. Raises SettingsError, ModelError, and for the register
    InputError and OutputError.
    """
    if key is None:
        key = secret(settings)
    session = session_without_register(settings, key)
    return replace(session, register=open_register(settings, session.models, key))


def session_without_register(settings: Settings, key: bytes | None = None) -> Session:
    """For who recognises nobody: a process that is told all surrogates, or one that hands the work on. key: None for
    none; no key file is read. Raises SettingsError and ModelError."""
    models = load_models(settings.models)
    settings.check_gallery(len(models.gallery.identities))
    return Session(settings, models, key)


def secret(settings: Settings) -> bytes | None:
    """The bytes of the key file, or None. Raises SettingsError."""
    read = read_key_file if settings.register is None else private_key
    return None if settings.key_file is None else read(settings.key_file)

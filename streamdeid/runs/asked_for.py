"""Makes the part of a report that says what the user asked for (`RunChoice`)."""

from __future__ import annotations

from streamdeid.report.redaction_report import RunChoice, finite
from streamdeid.runs.session import Session, session_without_register
from streamdeid.settings import Settings
from streamdeid.surrogates.choice import Surrogates
from streamdeid.surrogates.guarantee import guarantee


def chosen_by(settings: Settings, key: bytes | None) -> RunChoice:
    """The `RunChoice` of some settings and the key that was read for them. Raises SettingsError and ModelError."""
    session = session_without_register(settings, key)
    return choice_of(session, session.surrogates())


def choice_of(session: Session, surrogates: Surrogates | None) -> RunChoice:
    """The `RunChoice` of a session. surrogates: what chooses surrogates; None for a mask."""
    settings, models = session.settings, session.models
    factor = surrogates.factor if surrogates is not None else float("inf")
    worst = surrogates.leakage.worst if surrogates is not None else 0.0
    return RunChoice(
        method=settings.method,
        k=settings.k if settings.synthesises else None,
        q=settings.q if settings.samples else None,
        factor=finite(factor),
        preserved=settings.preserve if settings.synthesises else (),
        leakage_bits=surrogates.leakage.mean if surrogates is not None else 0.0,
        worst_leakage_bits=worst,
        transfer=settings.transfer if settings.synthesises else None,
        eyes=settings.eyes if settings.synthesises else None,
        children=settings.children and settings.synthesises,
        strict=settings.strict,
        keyed=settings.key_file is not None,
        register_days=None if settings.register is None else settings.days_registered,
        threshold=settings.threshold,
        lookahead_seconds=settings.lookahead,
        min_face=settings.min_face,
        detector_interval=settings.detector_interval,
        coast_seconds=settings.coast,
        reentry=settings.reentry,
        tolerant=settings.tolerant,
        model_sha256=models.fitting.model.sha256,
        gallery_sha256=models.gallery.sha256,
        whitelisted_pictures=len(settings.whitelist),
        regions=tuple(str(region) for region in settings.regions),
        guarantee=guarantee(
            settings.method,
            q=settings.q,
            factor=factor,
            worst_bits=worst,
            classes=surrogates.classes if surrogates is not None else 1,
            whitelisted=len(settings.whitelist),
        ),
    )

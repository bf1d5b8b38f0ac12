"""Asking an annotator's consent before the first HIT."""

from datetime import datetime

from annotation.models import Annotator, Consent


def latest_consent(annotator: Annotator) -> Consent | None:
    """Return the annotator's last answer to the study's current consent text."""
    return annotator.consents.filter(version=annotator.study.consent_version).order_by("-pk").first()


def has_consented(annotator: Annotator) -> bool:
    """Tell whether the current text was accepted, and not declined since."""
    consent = latest_consent(annotator)
    return consent is not None and consent.accepted


def answer_consent(*, annotator: Annotator, accepted: bool, at: datetime) -> Consent:
    """Record an answer to the current text; earlier answers stay."""
    return Consent.objects.create(
        annotator=annotator,
        version=annotator.study.consent_version,
        text=annotator.study.consent_text,
        accepted=accepted,
        answered_at=at,
    )

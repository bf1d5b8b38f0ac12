"""What a web process does once a minute: raise alarms, and send their mails, while no worker does."""

from django.utils import timezone

from annotation.mail.outbox import send_due
from reporting.health.alarms import EVERY, WORKER, WORKER_SILENT, look
from reporting.health.signs import take_turn
from reporting.models import Sign

WATCH_SECONDS = EVERY.total_seconds()


def watch() -> bool:
    """Look at alarms and send mails if no worker gives a sign of life; tell whether that was so."""
    now = timezone.now()
    if not Sign.objects.filter(name=WORKER, at__lt=now - WORKER_SILENT).exists():
        return False
    if take_turn("web", at=now, every=EVERY):
        look(at=now)
        send_due(at=now)
    return True

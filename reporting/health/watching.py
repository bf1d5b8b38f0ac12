"""What a web process does once a minute: raise alarms, and send their mails, while no worker does."""

from django.utils import timezone

from annotation.mail.outbox import send_due
from reporting.health.alarms import EVERY, look
from reporting.health.signs import WORKER, is_worker_silent, take_turn
from reporting.models import Sign

WATCH_SECONDS = EVERY.total_seconds()


def watch() -> bool:
    """Look at alarms and send mails if no worker gives a sign of life; tell whether that was so.

    For a worker that was never started, the time begins to count here.
    """
    now = timezone.now()
    Sign.objects.get_or_create(name=WORKER, defaults={"at": now})
    if not is_worker_silent(at=now):
        return False
    if take_turn("web", at=now, every=EVERY):
        look(at=now)
        send_due(at=now)
    return True

"""The thread of a web process that raises alarms, and sends their mails, while no worker does."""

import logging
import threading

from django.db import connections
from django.utils import timezone

from annotation.mail.outbox import send_due
from reporting.health.alarms import EVERY, WORKER, WORKER_SILENT, look
from reporting.health.signs import take_turn
from reporting.models import Sign

log = logging.getLogger(__name__)


def watch() -> bool:
    """Look at alarms and send mails if no worker gives a sign of life; tell whether that was so."""
    now = timezone.now()
    if not Sign.objects.filter(name=WORKER, at__lt=now - WORKER_SILENT).exists():
        return False
    if take_turn("web", at=now, every=EVERY):
        look(at=now)
        send_due(at=now)
    return True


class WatchThread(threading.Thread):
    """Watches once a minute, by one query, as long as the process lives."""

    def __init__(self) -> None:
        super().__init__(name="watch", daemon=True)
        self.ended = threading.Event()

    def run(self) -> None:
        """Repeat."""
        while not self.ended.wait(EVERY.total_seconds()):
            try:
                watch()
            except Exception:  # a database outage must not end this thread
                log.exception("can't look for a worker; trying again")
            finally:
                connections.close_all()

"""The thread of a worker process that sends mails: no long task delays them, and no dead mail server delays a task."""

import logging
import threading

from django.conf import settings
from django.db import connections
from django.utils import timezone

from annotation.mail.outbox import send_due

EVERY_SECONDS = 5.0

log = logging.getLogger(__name__)


class MailThread(threading.Thread):
    """Sends what is due, until it is told to end; without mail settings it ends at once."""

    def __init__(self) -> None:
        super().__init__(name="mail", daemon=True)
        self.ended = threading.Event()

    def run(self) -> None:
        """Look regularly."""
        while settings.MAIL_ON and not self.ended.wait(EVERY_SECONDS):
            try:
                send_due(at=timezone.now())
            except Exception:  # a database outage must not end this thread
                log.exception("can't send mails; trying again")
            finally:
                connections.close_all()

    def end(self) -> None:
        """Stop; a mail that is being sent is finished within EMAIL_TIMEOUT."""
        self.ended.set()
        self.join(timeout=settings.EMAIL_TIMEOUT)

"""The audit log: each thing that a researcher or an admin sends, as keys, in a table to which rows are only added."""

import logging
import re
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Any

from django.db import Error, connection
from django.db.models.signals import post_save
from django.http import HttpRequest, HttpResponseBase
from django.utils.deprecation import MiddlewareMixin

from annotation.core.http import RATERS_PAGES
from annotation.core.request_ids import current
from annotation.members.audit_changes import changes as noted_changes
from annotation.models import AuditEntry, Event

SAFE = ("GET", "HEAD", "OPTIONS", "TRACE")
# Raters' pages, arrivals, platforms' messages, signing in: those have records of their own.
NOT_RESEARCHERS = (*RATERS_PAGES, "/hooks/")
SECRET = ("token",)  # parts of addresses that are no keys
NO_ACCOUNT = 0  # who has a shell on the server
WRITES = re.compile(r"\s*(?:WITH\b.*\b)?(?:INSERT|UPDATE|DELETE|COPY|TRUNCATE)\b", re.IGNORECASE | re.DOTALL)

logger = logging.getLogger(__name__)


class AuditMiddleware(MiddlewareMixin):
    """Adds a row for each request that may change something, except raters'; refused ones too, with their status."""

    def process_request(self, request: HttpRequest) -> None:
        """Collect what the request changes."""
        noted_changes.set([] if is_audited(request) else None)

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        """Add the row."""
        changes = noted_changes.get()
        noted_changes.set(None)
        if changes is None:
            return response
        found = request.resolver_match
        try:
            if request.user.is_authenticated:
                AuditEntry.objects.create(
                    account=request.user.pk,
                    method=(request.method or "")[:7],
                    action=found.view_name[:120] if found else "-",
                    about={name: str(value) for name, value in found.kwargs.items() if name not in SECRET}
                    if found
                    else {},
                    status=response.status_code,
                    request_id=current.get(),
                    changes=changes,
                )
        except Error as error:  # the response has the outcome
            logger.error("%s %s is not in the audit log: %s", request.method, found, error)
        return response


def is_audited(request: HttpRequest) -> bool:
    """Tell whether a request may change something and is not a rater's."""
    return request.method not in SAFE and not request.path.startswith(NOT_RESEARCHERS)


@contextmanager
def audited_command(name: str) -> Iterator[None]:
    """Add a row for a command if it sends the database a statement that changes something, also when it fails then."""
    writes = 0

    def count(execute: Any, sql: str, *rest: Any) -> Any:
        nonlocal writes
        writes += WRITES.match(sql) is not None
        return execute(sql, *rest)

    before = noted_changes.set([])
    status = 500
    try:
        with connection.execute_wrapper(count):
            yield
        status = 200
    finally:
        changes = noted_changes.get()
        noted_changes.reset(before)
        if writes:
            _add_command(name, status, changes or [])


def log_new_password(*, account: int) -> None:
    """Add a row for a password that was chosen by a mailed link, without signing in."""
    change = {"kind": "changed", "model": "auth.user", "key": account, "changes": {}, "texts": ["password"]}
    AuditEntry.objects.create(
        account=account,
        method="POST",
        action="annotation:choose-password",
        status=302,
        request_id=current.get(),
        changes=[change],
    )


def _add_command(name: str, status: int, changes: list[Any]) -> None:
    try:
        AuditEntry.objects.create(
            account=NO_ACCOUNT, method="COMMAND", action=name, status=status, request_id="-", changes=changes
        )
    except Error as error:
        logger.error("the command %s is not in the audit log: %s", name, error)


def note_change(*, instance: Event, created: bool, **_signal: Any) -> None:
    """Keep what a study's log gets, without what people wrote, and of raters the kind alone (receiver of `post_save`).

    Erasing a rater empties the log's entries about them; the audit log stays whole.
    """
    changes = noted_changes.get()
    if changes is None or not created:
        return
    is_about_rater = instance.annotator_id is not None or instance.assignment_id is not None
    values = {} if is_about_rater else instance.changes
    changes.append({"study": instance.study_id, "kind": instance.kind, "event": instance.pk, "changes": values})


post_save.connect(note_change, sender=Event, dispatch_uid="audit_changes")


def entries(*, since: datetime | None) -> Iterator[dict[str, Any]]:
    """Yield the log as documents, the earliest first."""
    found = AuditEntry.objects.all() if since is None else AuditEntry.objects.filter(happened_at__gte=since)
    for entry in found.iterator():
        yield {
            "id": entry.pk,
            "at": entry.happened_at.isoformat(),
            "account": entry.account,
            "method": entry.method,
            "action": entry.action,
            "about": entry.about,
            "status": entry.status,
            "request_id": entry.request_id,
            "changes": entry.changes,
        }

"""The audit log: each thing that a researcher or an admin sends, as keys, in a table to which rows are only added."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Any

from django.db import Error

from annotation.core.request_ids import current
from annotation.members.audit_changes import changes as noted_changes
from annotation.models import AuditEntry

NO_ACCOUNT = 0  # who has a shell on the server

logger = logging.getLogger(__name__)


@contextmanager
def audited_command(name: str) -> Iterator[None]:
    """Add a row for a command, also when it fails."""
    before = noted_changes.set([])
    status = 500
    try:
        yield
        status = 200
    finally:
        changes = noted_changes.get()
        noted_changes.reset(before)
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


def entries(*, since: datetime | None) -> Iterator[dict[str, Any]]:
    """Yield the log as documents, the earliest first."""
    entries_since = AuditEntry.objects.all() if since is None else AuditEntry.objects.filter(happened_at__gte=since)
    for entry in entries_since.iterator():
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

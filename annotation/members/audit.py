"""The audit log: each thing that a researcher or an admin sends, as keys, in a table to which rows are only added.

With it go the rows that a request changes: values before and after, without texts of people.
"""

import logging
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import datetime
from typing import Any

from django.contrib.auth.models import User
from django.db import Error, models
from django.db.models.signals import post_save, pre_delete, pre_save
from django_otp.plugins.otp_totp.models import TOTPDevice

from annotation.core.request_ids import current
from annotation.models import AuditEntry, Event, ResearchGroup, RoleGrant, Study

NO_ACCOUNT = 0  # who has a shell on the server

logger = logging.getLogger(__name__)

Change = dict[str, Any]
changes: ContextVar[list[Change] | None] = ContextVar("audit_changes", default=None)  # None: not an audited request

MOST_CHANGES = 50  # of a request; an upload changes more
APPS = {"annotation", "auth", "judging", "otp_totp", "reporting"}
LOGS = (AuditEntry, Event)  # the log itself, and what it gets from studies' logs
# Receivers of all models' deletions would make each row be read before it is deleted.
DELETED = (ResearchGroup, RoleGrant, Study, TOTPDevice, User)
PLAIN = (
    models.BooleanField,
    models.IntegerField,
    models.FloatField,
    models.DecimalField,
    models.DateTimeField,
    models.ForeignKey,
)
# Signing in has a log of its own, and a code is known by the time at which it was used.
UNLOGGED_FIELDS = {"last_login", "last_t", "drift", "last_used_at"}


def note(change: Change) -> None:
    """Note a change that is more than rows, in an audited request."""
    if (noted := changes.get()) is not None:
        noted.append(change)


def note_added(*, sender: type[models.Model], instance: models.Model, created: bool, **_signal: Any) -> None:
    """Note a row that was added (receiver of `post_save`)."""
    if created and (noted := _noted(sender)) is not None:
        fields = _fields(sender)
        _note(noted, instance, "added", fields, None, _values(instance, fields))


def note_changed(
    *, sender: type[models.Model], instance: models.Model, update_fields: Iterable[str] | None, **_signal: Any
) -> None:
    """Compare a row that is about to be saved with what is stored (receiver of `pre_save`)."""
    if instance._state.adding or (noted := _noted(sender)) is None:
        return
    fields = _fields(sender)
    if update_fields is not None:
        fields = [field for field in fields if {field.name, field.attname} & set(update_fields)]
    names = [field.attname for field in fields]
    before = sender._base_manager.filter(pk=instance.pk).values(*names).first() or dict.fromkeys(names)
    after = _values(instance, fields)
    if changed := [field for field in fields if before[field.attname] != after[field.attname]]:
        _note(noted, instance, "changed", changed, before, after)


def note_deleted(*, sender: type[models.Model], instance: models.Model, **_signal: Any) -> None:
    """Note a row that is about to be deleted (receiver of `pre_delete`)."""
    if (noted := _noted(sender)) is not None:
        fields = _fields(sender)
        _note(noted, instance, "deleted", fields, _values(instance, fields), None)


def note_logged(*, instance: Event, created: bool, **_signal: Any) -> None:
    """Keep what a study's log gets, without what people wrote, and of raters the kind alone (receiver of `post_save`).

    Erasing a rater empties the log's entries about them; the audit log stays whole.
    """
    noted = changes.get()
    if noted is None or not created:
        return
    is_about_rater = instance.annotator_id is not None or instance.assignment_id is not None
    values = {} if is_about_rater else instance.changes
    noted.append({"study": instance.study_id, "kind": instance.kind, "event": instance.pk, "changes": values})


def _noted(model: type[models.Model]) -> list[Change] | None:
    """Return where changes of a model's rows are noted, or None for a request or a model that is not audited."""
    noted = changes.get()
    return noted if noted is not None and model._meta.app_label in APPS and not issubclass(model, LOGS) else None


def _fields(model: type[models.Model]) -> list[Any]:
    return [
        field for field in model._meta.concrete_fields if not field.primary_key and field.name not in UNLOGGED_FIELDS
    ]


def _values(instance: models.Model, fields: Iterable[Any]) -> dict[str, Any]:
    return {field.attname: getattr(instance, field.attname) for field in fields}


def _note(
    noted: list[Change],
    instance: models.Model,
    kind: str,
    fields: Sequence[Any],
    before: dict[str, Any] | None,
    after: dict[str, Any] | None,
) -> None:
    """Add a change, with values of plain fields and choices, and the names of others, which may hold what people wrote."""
    if len(noted) >= MOST_CHANGES:
        noted[-1] = {"kind": "more", "rows": noted[-1].get("rows", 1) + 1}
        return
    plain = [field for field in fields if isinstance(field, PLAIN) or field.choices]
    values = {
        field.name: [None if side is None else _text(side[field.attname]) for side in (before, after)]
        for field in plain
    }
    texts = [field.name for field in fields if field not in plain]
    noted.append(
        {"kind": kind, "model": instance._meta.label_lower, "key": instance.pk, "changes": values, "texts": texts}
    )


def _text(value: Any) -> Any:
    return value if value is None or isinstance(value, bool | int | str) else str(value)


post_save.connect(note_logged, sender=Event, dispatch_uid="audit_changes")
post_save.connect(note_added, dispatch_uid="audit_added")
pre_save.connect(note_changed, dispatch_uid="audit_changed")
for _model in DELETED:
    pre_delete.connect(note_deleted, sender=_model, dispatch_uid="audit_deleted")


@contextmanager
def audited_command(name: str) -> Iterator[None]:
    """Add a row for a command, also when it fails."""
    before = changes.set([])
    status = 500
    try:
        yield
        status = 200
    finally:
        noted = changes.get()
        changes.reset(before)
        row = {"account": NO_ACCOUNT, "method": "COMMAND", "action": name, "status": status, "request_id": "-"}
        try:
            AuditEntry.objects.create(**row, changes=noted or [])
        except Error as error:
            logger.error("the command %s is not in the audit log: %s", name, error)


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


def entries(*, since: datetime | None) -> Iterator[dict[str, Any]]:
    """Yield the log as documents, the earliest first."""
    entries_since = AuditEntry.objects.all() if since is None else AuditEntry.objects.filter(happened_at__gte=since)
    for entry in entries_since.iterator():
        names = ("account", "method", "action", "about", "status", "request_id", "changes")
        yield {"id": entry.pk, "at": entry.happened_at.isoformat(), **{name: getattr(entry, name) for name in names}}

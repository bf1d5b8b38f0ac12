"""Messages from a study's admins to its raters."""

from datetime import datetime

from django.contrib.auth.models import AbstractBaseUser, AnonymousUser, User
from django.db import transaction
from django.db.models import QuerySet
from django.utils.crypto import constant_time_compare

from annotation.core.database.prepared import Prepared
from annotation.core.errors import Unacceptable
from annotation.core.keys import message_key
from annotation.models import Annotator, Batch, Event, Message
from annotation.studies.log import log

LONGEST_MESSAGE = 1000
MOST_SHOWN = 20


@transaction.atomic
def send_message(*, annotator: Annotator, text: str, by: User | None, at: datetime) -> Message:
    """Send a message to one rater, who sees it on their next page.

    Raises: Unacceptable if the rater is imported or has withdrawn.
    """
    annotator = Annotator.objects.select_related("study").get(pk=annotator.pk)
    if annotator.user_id is None or annotator.withdrawn_at is not None:
        raise Unacceptable("This rater no longer opens pages here, so a message would never be read.")
    log(study=annotator.study, kind=Event.Kind.MESSAGE, by=by, at=at, annotator=annotator, reason=text)
    return Message.objects.create(annotator=annotator, text=text, sent_at=at)


@transaction.atomic
def send_to_batch(*, batch: Batch, text: str, by: User | None, at: datetime) -> int:
    """Send a message to every rater who has, or had, a HIT of a batch and return their number.

    Raises: Unacceptable if there is no such rater.
    """
    raters = list(recipients(batch))
    if not raters:
        raise Unacceptable("No rater has claimed a HIT of this batch yet.")
    Message.objects.bulk_create(Message(annotator=rater, text=text, sent_at=at) for rater in raters)
    changes = {"raters": len(raters)}
    log(study=batch.study, kind=Event.Kind.MESSAGE, by=by, at=at, batch=batch, reason=text, changes=changes)
    return len(raters)


def recipients(batch: Batch) -> QuerySet[Annotator]:
    """Return the raters who get a message to a batch."""
    return Annotator.objects.present().filter(user__isnull=False, assignments__hit__batch=batch).distinct()


def unread(user: AbstractBaseUser | AnonymousUser) -> list[Message]:
    """Return a user's unread messages, of all studies, the earliest first."""
    if user.pk is None:
        return []
    return _UNREAD.all(user=user.pk)


def unread_by(user: int) -> QuerySet[Message]:
    """Return the unread messages of the user with this primary key."""
    return Message.objects.filter(annotator__user=user, read_at=None).order_by()


def _unread(user: int) -> QuerySet[Message]:
    return unread_by(user).order_by("sent_at", "pk")[:MOST_SHOWN]


_UNREAD = Prepared(_unread)


def mark_read(*, user: AbstractBaseUser | AnonymousUser, key: str, at: datetime) -> bool:
    """Mark a user's message as read, or return False if no unread one has this key."""
    for message in unread(user):
        if constant_time_compare(message_key(message.pk), key):
            Message.objects.filter(pk=message.pk, read_at=None).update(read_at=at)
            return True
    return False

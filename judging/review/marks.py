"""Researchers' marks on whether a judgment's rationale is sound, whatever its verdict."""

from datetime import datetime

from django.contrib.auth.models import User
from django.db import transaction

from annotation.core.errors import Unacceptable
from judging.models import Judgment, RationaleMark

LONGEST_NOTE = 2000


@transaction.atomic
def mark_rationale(*, judgment: Judgment, marker: User, sound: bool, note: str = "", at: datetime) -> RationaleMark:
    """Store `marker`'s mark on a judgment's rationale, replacing an earlier one.

    Raises: Unacceptable if the judgment has no rationale, or the note is too long.
    """
    if len(note) > LONGEST_NOTE:
        raise Unacceptable(f"The note is too long; at most {LONGEST_NOTE} characters are taken.")
    judgment = Judgment.objects.select_for_update(of=("self",)).get(pk=judgment.pk)  # serialises double clicks
    if not judgment.rationale.strip():
        raise Unacceptable("This judgment has no rationale to mark.")
    mark = judgment.marks.filter(marker=marker).first() or RationaleMark(judgment=judgment, marker=marker)
    mark.sound, mark.note, mark.marked_at = sound, note, at
    mark.full_clean()
    mark.save()
    return mark


@transaction.atomic
def remove_mark(*, judgment: Judgment, marker: User) -> bool:
    """Delete `marker`'s mark on a judgment's rationale and return whether there was one."""
    deleted, _by_model = judgment.marks.filter(marker=marker).delete()
    return deleted > 0

"""Marks: a researcher's word on whether a judgment's rationale is sound, whatever its verdict."""

from datetime import datetime

from django.contrib.auth.models import User
from django.db import transaction
from django.utils.translation import gettext as _

from annotation.errors import Unacceptable
from judging.models import Judgment, RationaleMark

LONGEST_NOTE = 2000


@transaction.atomic
def mark_rationale(*, judgment: Judgment, marker: User, sound: bool, note: str = "", at: datetime) -> RationaleMark:
    """Keep what `marker` thinks of a judgment's rationale; a later word of theirs takes the place of an earlier one.

    Raises: Unacceptable if the judgment has no rationale, or the note is too long.
    """
    if len(note) > LONGEST_NOTE:
        raise Unacceptable(_("The note is too long; at most %(most)d characters are taken.") % {"most": LONGEST_NOTE})
    judgment = Judgment.objects.select_for_update(of=("self",)).get(pk=judgment.pk)  # one of two clicks waits
    if not judgment.rationale.strip():
        raise Unacceptable(_("This judgment has no rationale to mark."))
    mark = judgment.marks.filter(marker=marker).first() or RationaleMark(judgment=judgment, marker=marker)
    mark.sound, mark.note, mark.marked_at = sound, note, at
    mark.full_clean()
    mark.save()
    return mark


@transaction.atomic
def take_mark_back(*, judgment: Judgment, marker: User) -> bool:
    """Forget what `marker` thought of a judgment's rationale; tells whether there was anything."""
    deleted, _by_model = judgment.marks.filter(marker=marker).delete()
    return deleted > 0

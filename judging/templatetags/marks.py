"""The marks on a rationale, for the control on a judgment's page."""

from dataclasses import dataclass
from typing import Any

from django import template

from judging.models import Judgment, RationaleMark
from judging.review.forms import MarkForm

register = template.Library()


@dataclass(frozen=True)
class Marks:
    """The marks of all readers, this reader's own among them, and the form to make or change it."""

    every: list[RationaleMark]
    own: RationaleMark | None
    form: MarkForm


@register.simple_tag(takes_context=True)
def rationale_marks(context: dict[str, Any], judgment: Judgment) -> Marks:
    """Read the marks of a judgment. A form that was sent and refused is shown again as it was."""
    every = list(judgment.marks.select_related("marker").order_by("marked_at"))
    user = context["request"].user
    own = next((mark for mark in every if mark.marker_id == user.pk), None)
    own_mark = {"sound": own.sound, "note": own.note} if own else {}
    form = context.get("mark_form") or MarkForm(initial=own_mark, auto_id="mark-%s")
    return Marks(every, own, form)

"""Template filters for raters and their work, on the pages of researchers."""

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString

from annotation.core.counting import percent
from annotation.models import Annotator, Assignment
from annotation.rating.votes import is_counted

register = template.Library()

CAME_BY = {
    Annotator.Kind.ACCOUNT: "account",
    Annotator.Kind.IMPORTED: "imported",
    Annotator.Kind.SCRIPTED: "scripted",
    Annotator.Kind.INVITED: "invited",
    Annotator.Kind.ANONYMOUS: "anonymous link",
    Annotator.Kind.PROLIFIC: "Prolific",
    Annotator.Kind.MTURK: "MTurk",
}

PURPOSES = {
    Assignment.Purpose.RATING: "rating",
    Assignment.Purpose.QUALIFICATION: "qualification",
    Assignment.Purpose.GOLD: "hidden gold",
    Assignment.Purpose.REPEAT: "hidden repeat",
}
STATES = {
    Assignment.State.CLAIMED: "in progress",
    Assignment.State.EXPIRED: "ran out",
    Assignment.State.RETURNED: "returned",
}


@register.filter
def share(value: float | None, n: int) -> SafeString | str:
    """Show a share as a percentage with its number of cases, or a dash for None."""
    if value is None:
        return "–"
    return format_html("{} <small>({})</small>", percent(value, 0), n)


@register.filter
def source_of_rater(rater: Annotator) -> str:
    """Name the way in which a rater came."""
    return str(CAME_BY.get(Annotator.Kind(rater.kind), rater.kind))


@register.filter
def purpose(value: str) -> str:
    """Name an assignment's purpose."""
    return str(PURPOSES.get(Assignment.Purpose(value), value))


@register.filter
def assignment_status(assignment: Assignment) -> str:
    """Describe an assignment's state, including whether it counts."""
    if assignment.state != Assignment.State.SUBMITTED:
        return str(STATES[Assignment.State(assignment.state)])
    if assignment.excluded:
        return f"rejected: {assignment.exclusion_reason}"
    if not is_counted(assignment):
        return "submitted, not counted"
    return "submitted late" if assignment.late else "submitted"


@register.filter
def minutes(seconds: float | None) -> str:
    """Show seconds as minutes."""
    return "–" if seconds is None else f"{seconds / 60:.1f}"

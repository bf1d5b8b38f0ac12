"""Template filters for verdicts, proportions and money on the judges' pages. Unknown values are shown as such, never as 0."""

import math
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from django import template
from django.template.defaultfilters import pluralize
from django.utils.formats import number_format

from annotation.core.counting import percent
from annotation.models import Study
from annotation.studies.questions import named_questions
from judging.core.pricing import is_above
from judging.models import JudgeRun
from judging.runs.pair_filters import filter_of

if TYPE_CHECKING:  # raters' pages load all tag libraries, and must not load NumPy
    from judging.core.proportions import Proportion

register = template.Library()
register.filter(percent)
register.filter(is_above)
SMALL = Decimal("0.01")


@register.filter
def entries(named: dict[str, Any]) -> list[tuple[str, Any]]:
    """Return a dictionary's items. `.items` in a template would look up a key of that name first."""
    return list(named.items())


@register.filter
def verdict_word(verdict: float | None) -> str:
    """Write a verdict in study order: A, tie, B. A missing one in words."""
    if verdict is None or math.isnan(verdict):
        return "none"
    return {-1: "A", 0: "tie", 1: "B"}[int(verdict)]


@register.filter
def amount(cost: Decimal | None, currency: str = "") -> str:
    """Write a sum of money: cents, or two figures of what is less than one."""
    if cost is None:
        return "unknown"
    decimals = 2
    if 0 < abs(cost) < SMALL:
        decimals = 1 - cost.adjusted()
    elif 0 < abs(cost) < 1:
        decimals = 4
    # Django writes a number's first decimals: what comes after them would be cut off, and not rounded.
    return f"{number_format(f'{cost:.{decimals}f}', decimal_pos=decimals)} {currency}".strip()


@register.filter
def duration(seconds: float | None) -> str:
    """Write a time to come in the largest units that say it, or an empty string when it isn't known."""
    if seconds is None:
        return ""
    minutes = round(seconds / 60)
    if minutes < 1:
        return "less than a minute"
    hours, minutes_left = divmod(minutes, 60)
    return f"{hours} h {minutes_left} min" if hours else f"{minutes_left} min"


@register.filter
def judged_pairs(run: JudgeRun) -> str:
    """Say which pairs a run is about."""
    on = f"batch {run.batch}" if run.batch else "the study’s pairs"
    only = filter_of(run.pair_filter)
    parts = [only.dataset, " – ".join(only.systems), *only.tags]
    if count := len(only.instances):
        parts.append(f"{count} instance{pluralize(count)}")
    if only.off_hits:
        on = "all pairs of the study, on HITs or not"
    if only.on_demand:
        on = "the pairs needed for rankings"
    narrowed = ", ".join(filter(None, parts))
    return f"{on}; of these only {narrowed}" if narrowed else on


@register.filter
def question_key(number: int, study: Study) -> str:
    """Return the key of a question, or an empty string where the study asks only one."""
    questions = named_questions(study)
    return questions[number].key if questions else ""


@register.filter
def answered_keys(run: JudgeRun, study: Study) -> str:
    """List the keys of the questions that a run answers, or an empty string where the study asks only one."""
    questions = named_questions(study)
    return ", ".join(questions[number].key for number in run.questions) if questions else ""


@register.inclusion_tag("judging/core/_proportion.html")
def share(proportion: "Proportion", of: str, why: str) -> dict[str, Any]:
    """Show a share with its interval and n, or a dash with the reason.

    of : what it is a share of, in words; why : what to say when there is no value
    """
    return {"found": proportion, "of": of, "why": why}

"""Stop rules: when a batch has collected enough and gives out no further HIT."""

import re
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation

from django.core.exceptions import ValidationError

from annotation.core.errors import InvalidSelection
from annotation.models import Assignment, Batch, Study

DECIDED, WIDTH, JUDGE, BUDGET = "decided", "width", "judge", "budget"
NO_RULE = "none"  # in place of a rule: the batch has none any more
ALLOWED = "decided, width:W (as width:0.1), judge:NAME, or budget:AMOUNT (in the study’s currency)"
_RULE = re.compile(r"(?P<kind>decided|width|judge|budget)(?::(?P<value>.+))?")


@dataclass(frozen=True)
class StopRule:
    """A parsed stop rule.

    kind  : `decided`, `width`, `judge` or `budget`
    value : greatest width of the win rate's interval, or amount of pay
    judge : name of the judge whose verdict on replacing raters is awaited
    """

    kind: str
    value: Decimal = Decimal(0)
    judge: str = ""

    @classmethod
    def parse(cls, text: str) -> "StopRule":
        """Read a rule.

        Raises: InvalidSelection naming those allowed.
        """
        match = _RULE.fullmatch(text.strip())
        kind, value = match.group("kind", "value") if match else ("", "")
        if kind == DECIDED and not value:
            return cls(kind)
        if kind == JUDGE and value:
            return cls(kind, judge=value.strip())
        if kind in (WIDTH, BUDGET) and (number := _positive(value)) and (kind == BUDGET or number < 1):
            return cls(kind, number)
        raise InvalidSelection(f"Unknown stop rule {text!r}. Allowed: {ALLOWED}.")


def _positive(text: str | None) -> Decimal | None:
    try:
        number = Decimal(text or "")
    except InvalidOperation:
        return None
    return number if number.is_finite() and number > 0 else None


def validate_stop_rule(text: str) -> None:
    """Refuse an unknown stop rule in a form.

    Raises: ValidationError naming those allowed.
    """
    try:
        StopRule.parse(text)
    except InvalidSelection as error:
        raise ValidationError(str(error), code="invalid") from None


def refuse_stop_rule(study: Study, text: str, batch: Batch | None = None) -> None:
    """Refuse a rule that could never hold in a study, and a budget that a batch has used up.

    Raises: InvalidSelection saying what is missing.
    """
    rule = StopRule.parse(text)
    if rule.kind == JUDGE and not study.judge_runs.filter(judge__name=rule.judge).exists():
        names = study.judge_runs.order_by("judge__name").values_list("judge__name", flat=True)
        listed = ", ".join(dict.fromkeys(names)) or "none"
        raise InvalidSelection(f"No judge {rule.judge} has run on study {study.slug}. Those that have: {listed}.")
    if rule.kind == BUDGET and not study.pays:
        raise InvalidSelection(
            f"Study {study.slug} names no pay, so no budget can be used up. Set the pay of a HIT first."
        )
    if rule.kind == BUDGET and batch is not None and (why := why_spent(batch, rule)):
        raise InvalidSelection(f"The budget of {rule.value} is used up: {why} Give a larger one.")


def submitted_hits(batch: Batch) -> int:
    """Count the submitted HITs of a batch."""
    return batch.slots.filter(assignment__state=Assignment.State.SUBMITTED).count()


def why_spent(batch: Batch, rule: StopRule) -> str:
    """Tell whether one more submitted HIT would cost more than the rule allows. HITs that are only begun may expire unpaid."""
    submitted = submitted_hits(batch)
    spent, next_spent = (batch.study.pay_for(hits) for hits in (submitted, submitted + 1))
    if spent is None or next_spent is None or next_spent <= rule.value:
        return ""
    return f"{submitted} HITs cost {spent} {batch.study.currency}."

"""Stop rules: when a batch has collected enough and gives out no further HIT."""

import re
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation

from annotation.core.errors import InvalidSelection

DECIDED, WIDTH, JUDGE, BUDGET = "decided", "width", "judge", "budget"
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

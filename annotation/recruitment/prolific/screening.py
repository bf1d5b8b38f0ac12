"""Screening at Prolific: the filters of a study, written one a line.

Filters are ranges or choices (docs.prolific.com/api-reference/filters); their ids, and the ids of choices, are Prolific's.
"""

import re
from typing import Any

from annotation.core.errors import Unacceptable
from annotation.recruitment.outbox import Json

USUAL = "approval_rate >= 95"
MOST_FILTERS = 20
_LINE = re.compile(
    r"([a-z0-9_-]{1,64})\s+(?:(>=|<=)\s*([0-9]{1,6})|in\s+([A-Za-z0-9_-]{1,64}(?:\s+[A-Za-z0-9_-]{1,64})*))"
)
_BOUND = {">=": "lower", "<=": "upper"}


def read_filters(text: str) -> list[Json]:
    """Read filters such as `approval_rate >= 95` or `fluent-languages in 19 20`. Two bounds of one filter are a range.

    Raises: Unacceptable naming the line.
    """
    filters: dict[str, dict[str, Any]] = {}
    for line in filter(None, (line.strip() for line in text.splitlines())):
        read = _LINE.fullmatch(line)
        if read is None:
            raise Unacceptable(
                f"“{line[:100]}” is no filter. Write, for example, approval_rate >= 95 or fluent-languages in 19."
            )
        name, sign, bound, values = read.groups()
        kind = "selected_range" if sign else "selected_values"
        filter_row = filters.setdefault(name, {"filter_id": name, kind: {} if sign else []})
        if kind not in filter_row or (sign and _BOUND[sign] in filter_row[kind]) or (values and filter_row[kind]):
            raise Unacceptable(f"Filter {name} has two lines that don’t fit together.")
        if sign:
            filter_row[kind][_BOUND[sign]] = int(bound)
        else:
            filter_row[kind] += values.split()
    if len(filters) > MOST_FILTERS:
        raise Unacceptable(f"At most {MOST_FILTERS} filters.")
    return list(filters.values())

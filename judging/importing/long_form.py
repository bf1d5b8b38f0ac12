"""Parsing judgments as `export_study` writes them."""

from collections.abc import Iterable
from decimal import Decimal

from analysis.types import Verdict
from annotation.core.files.lines import text_problem
from annotation.core.files.record_fields import SIGNS
from annotation.core.refusals import refusal
from judging.importing.columns import QUESTION
from judging.importing.fields import JudgmentFields, JudgmentRow, PairReference
from judging.models import Judgment

_VERDICTS = {"-1": Verdict.A, "0": Verdict.TIE, "1": Verdict.B, "": None}
_STATUSES = [status for status in Judgment.Status.values if status != Judgment.Status.PENDING]
_MOST_COST = 10**5
_LONGEST_VERSION = 160


class LongFields(JudgmentFields):
    """The fields of one exported row."""

    def row(self) -> JudgmentRow:
        """Parse the row. Columns about the exporting installation are ignored."""
        row = JudgmentRow(
            number=self.line,
            place=PairReference(
                instance=self.needed("instance_id"),
                pair=self.whole("pair_index", is_needed=True),
                system_a=self.needed("system_a"),
                system_b=self.needed("system_b"),
            ),
            judge=self.judge(self.needed("judge")),
            order=self.one_of("order", Judgment.Order.values),
            verdict=_VERDICTS.get(self.one_of("verdict", _VERDICTS, synonyms=SIGNS)),
            question=self.text(QUESTION),
            rationale=self.verbatim("rationale"),
            calls=self.whole("calls") or 0,
            prompt_tokens=self.whole("prompt_tokens"),
            completion_tokens=self.whole("completion_tokens"),
            status=self.one_of("status", _STATUSES),
            repeat=self.whole("repeat") or 0,
            negated=self.one_of("negated", ("", "false", "true")) == "true",
            reason=self.verbatim("reason"),
            p_b=self.number("p_b", minimum=0, maximum=1, kind="a number from 0 to 1"),
            score_a=self.number("score_a"),
            score_b=self.number("score_b"),
            token_mass=self.number("token_mass", minimum=0, maximum=1, kind="a number from 0 to 1"),
            cost=self.money("cost"),
            prompt_version=self.text("prompt_version", longest=_LONGEST_VERSION),
            judged_at=self.moment("rated_at"),
        )
        if not self.problems and (row.verdict is None) == (row.status == Judgment.Status.PARSED):
            self.problems.append(refusal("verdict_and_status", status=row.status))
        return row

    def text(self, field: str, **options: int | None) -> str:
        """Read a flag and a number of JSON as CSV writes them."""
        value = self.record.get(field)
        if isinstance(value, bool | float):
            return str(value).lower()
        return super().text(field, **options)

    def verbatim(self, field: str) -> str:
        """Return a text without stripping white space."""
        value = self.record.get(field) or ""
        if problem := text_problem(value, field, may_be_blank=True):
            self.problems.append(problem)
            return ""
        return str(value)

    def money(self, field: str) -> Decimal | None:
        """Read an amount, to the eight decimals that are stored."""
        number = self.number(field, minimum=0, maximum=_MOST_COST, kind=f"an amount from 0 to {_MOST_COST:,}")
        return None if number is None else Decimal(str(number)).quantize(Decimal("1e-8"))


def latest(rows: Iterable[JudgmentRow]) -> list[JudgmentRow]:
    """Keep the latest outcome of each presentation, as findings do."""
    latest_rows: dict[tuple[object, ...], JudgmentRow] = {}
    repeated: list[JudgmentRow] = []
    for row in rows:
        key = (row.judge, row.place, row.order, row.repeat, row.negated, row.question)
        before = latest_rows.get(key)
        if before and before.judged_at and row.judged_at and before.judged_at != row.judged_at:
            latest_rows[key] = row if row.judged_at > before.judged_at else before
        elif before:
            repeated.append(row)  # a duplicate, to be refused
        else:
            latest_rows[key] = row
    return [*latest_rows.values(), *repeated]

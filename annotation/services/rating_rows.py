"""Rating rows of a file, checked against each other and against what a study holds already."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from annotation.errors import BadLine
from annotation.models import Annotator, Assignment, ComparisonTable, Display, Pair, Rating, Study

_LONGEST = {"rater": 200, "batch": 200, "hit": 200, "arm": 50, "software_version": 40}


@dataclass(frozen=True)
class RatingRow:
    """One rating of a file, checked and in study order. `verdict` None: shown, but not answered."""

    number: int
    batch: str
    hit: str
    pair: Pair
    rater: str
    verdict: int | None
    a_is_left: bool
    stage: str = Rating.Stage.FIRST
    arm: str = ""
    table: ComparisonTable | None = None
    reason: str = ""
    active_seconds: float | None = None
    wall_seconds: float | None = None
    work_seconds: float | None = None
    rated_at: datetime | None = None
    late: bool = False
    excluded: bool = False
    exclusion_reason: str = ""
    software_version: str = ""


def default_batch(dataset: str, system_a: str, system_b: str) -> str:
    """Name the batch of a configuration's imported ratings, where a file or its reader names none."""
    return f"{dataset}: {system_a} / {system_b}"


@dataclass
class SortedRows:
    """Rows that are new, and what is wrong with others; the rest is stored already."""

    fresh: list[RatingRow] = field(default_factory=list)
    bad: list[BadLine] = field(default_factory=list)


def sort_out(study: Study, rows: Sequence[RatingRow], kind: str) -> SortedRows:
    """Find the rows that a study doesn't hold yet, and those that contradict it or each other."""
    bad = [BadLine(row.number, problem) for row in rows for problem in _too_long(row)]
    if bad:
        return SortedRows(bad=bad)
    stored = _Stored(study)
    in_file = _InFile()
    found = SortedRows()
    for row in rows:
        problem = in_file.problem(row) or stored.problem(row)
        if problem:
            found.bad.append(BadLine(row.number, problem))
        elif not stored.holds(row):
            found.fresh.append(row)
    found.bad.extend(_wrong_kind(study, found.fresh, kind))
    return found


class _InFile:
    """The rows of the file that came before."""

    def __init__(self) -> None:
        self._lines: dict[tuple[str, int, str], int] = {}
        self._shown: dict[tuple[str, int], RatingRow] = {}

    def problem(self, row: RatingRow) -> str | None:
        """Say how a row contradicts an earlier one."""
        earlier = self._lines.setdefault((row.rater, row.pair.pk, row.stage), row.number)
        if earlier != row.number:
            return f"rater {row.rater} rated this pair on line {earlier} already"
        shown = self._shown.setdefault((row.rater, row.pair.pk), row)
        if shown.a_is_left != row.a_is_left:
            return f"rater {row.rater} was shown the other text first on line {shown.number}"
        if (shown.batch, shown.hit) != (row.batch, row.hit):
            return f"rater {row.rater} rated this pair on another HIT on line {shown.number}"
        return None


class _Stored:
    """The ratings that a study holds. Checks are none: a repeat is a second vote on a pair, on other sides."""

    def __init__(self, study: Study) -> None:
        rated = Assignment.objects.filter(hit__batch__study=study, purpose=Assignment.Purpose.RATING)
        displays = Display.objects.filter(assignment__in=rated)
        self._shown = {
            (code, pair): left
            for code, pair, left in displays.values_list("assignment__annotator__code", "pair_id", "a_is_left")
        }
        ratings = Rating.objects.filter(display__assignment__in=rated)
        self._verdicts = {
            (code, pair, stage): verdict
            for code, pair, stage, verdict in ratings.values_list(
                "display__assignment__annotator__code", "display__pair_id", "stage", "verdict"
            )
        }

    def problem(self, row: RatingRow) -> str | None:
        """Say how a row contradicts what is stored."""
        shown = self._shown.get((row.rater, row.pair.pk), row.a_is_left)
        stored = self._verdicts.get((row.rater, row.pair.pk, row.stage), row.verdict)
        if shown != row.a_is_left or stored != row.verdict:
            return f"rater {row.rater} has another rating of this pair in the study already"
        return None

    def holds(self, row: RatingRow) -> bool:
        """Tell whether there is nothing to add."""
        if row.verdict is None:
            return (row.rater, row.pair.pk) in self._shown
        return (row.rater, row.pair.pk, row.stage) in self._verdicts


def _too_long(row: RatingRow) -> list[str]:
    """Say which names a database would cut off or refuse."""
    return [
        f"{name} is {len(value)} characters long; at most {longest} are taken"
        for name, longest in _LONGEST.items()
        if len(value := getattr(row, name)) > longest
    ]


def _wrong_kind(study: Study, rows: Iterable[RatingRow], kind: str) -> list[BadLine]:
    """Find new ratings by programs under a person's code, or the other way round: they would be mixed up for good."""
    kinds = dict(study.annotators.values_list("code", "kind"))
    scripted = kind == Annotator.Kind.SCRIPTED
    first: dict[str, RatingRow] = {}
    own: dict[str, RatingRow] = {}
    for row in rows:
        if kinds.get(row.rater) == Annotator.Kind.ACCOUNT:
            own.setdefault(row.rater, row)
        elif row.rater in kinds and (kinds[row.rater] == Annotator.Kind.SCRIPTED) != scripted:
            first.setdefault(row.rater, row)
    there, here = ("a person", "scripted") if scripted else ("scripted", "a person")
    bad = [BadLine(row.number, f"rater {code} is {there} in the study, {here} here") for code, row in first.items()]
    reason = "rates here, with an account; a file can't add to that"
    return bad + [BadLine(row.number, f"rater {code} {reason}") for code, row in own.items()]

"""Rows → arrays: the verdicts of an ablation's judges by round, with their usage; and the tables that they made."""

from collections.abc import Collection, Sequence

from django.db.models import Count, Q, Sum

from annotation.models import Pair, Study
from annotation.questions.questions import MAIN
from judging.ablation.judge_configurations import JudgeConfiguration
from judging.ablation.judges import known_aspects, settings_of
from judging.ablation.round_arrays import (
    Cell,
    JudgedRounds,
    MadeTable,
    Taken,
    drawn_tables,
    latest_cells,
    pair_name,
    rounds_of,
)
from judging.models import Judge, Judgment, TableMaking

CHUNK = 2000


def judged_rounds(study: Study, judges: Sequence[tuple[Judge, JudgeConfiguration]]) -> list[JudgedRounds]:
    """Load the verdicts and the usage of these judges, in a few queries for all of them.

    Of several runs the latest outcome of a presentation counts, as in findings.
    """
    ids = [judge.pk for judge, _ in judges]
    stored = Judgment.objects.for_question(MAIN).filter(run__study=study, run__judge__in=ids, negated=False)
    names = ("run__judge_id", "pair_id", "repeat", "pk", "status", "verdict", "calls", "cached")
    rows = stored.order_by("run__created_at", "run_id", "pk").values_list(*names).iterator(chunk_size=CHUNK)
    cells = latest_cells((judge, pair, repeat, Cell(*cell)) for judge, pair, repeat, *cell in rows)
    positions = Pair.objects.filter(matchup__instance__study=study).order_by()
    instance = dict(positions.values_list("pk", "matchup__instance__position"))
    taken, known = _taken(study, ids), known_aspects(study)
    return [
        rounds_of(settings_of(judge), one, known, cells.get(judge.pk, {}), instance, taken) for judge, one in judges
    ]


def _taken(study: Study, judges: Collection[int]) -> dict[int, dict[str, Taken]]:
    """Return the usage of each judgment's answers by kind."""
    links = Judgment.completions.through.objects.filter(
        judgment__run__study=study, judgment__run__judge__in=judges, judgment__question=MAIN, judgment__negated=False
    )
    about = {"sent": "prompt_tokens", "written": "completion_tokens", "cost": "cost"}
    sums = {name: Sum(f"completion__{field}") for name, field in about.items()}
    unknown = {f"no_{name}": Count("pk", filter=Q(**{f"completion__{field}": None})) for name, field in about.items()}
    rows = links.order_by().values("judgment_id", "completion__kind").annotate(number=Count("pk"), **sums, **unknown)
    found: dict[int, dict[str, Taken]] = {}
    names = ("judgment_id", "completion__kind", "number", *sums, *unknown)
    for judgment, kind, number, *values in rows.values_list(*names).iterator(chunk_size=CHUNK):
        told = zip(values[: len(about)], values[len(about) :], strict=True)
        known = (float("nan") if missing else float(total or 0) for total, missing in told)
        found.setdefault(judgment, {})[kind] = Taken(number, *known)
    return found


def made_tables(study: Study, judge: str) -> tuple[list[MadeTable], int]:
    """Return those of the tables that a judge, by its name, made on a study that are looked at, and how many there are.

    Of several runs the latest table of a presentation counts; which of them are looked at tells `drawn_tables`.
    """
    makings = TableMaking.objects.filter(
        judgment__run__study=study, judgment__run__judge__name=judge, judgment__question=MAIN
    )
    cells = makings.order_by("judgment__run__created_at", "judgment__run_id", "judgment_id")
    matchup = "judgment__pair__matchup"
    named = (f"{matchup}__instance__instance_id", f"{matchup}__system_a__name", f"{matchup}__system_b__name")
    latest, names = {}, {}
    for pk, repeat, pair, *name in cells.values_list(
        "pk", "judgment__repeat", "judgment__pair_id", *named, "judgment__pair__index"
    ):
        latest[repeat, pair] = pk
        names[pair] = pair_name(*name)
    chosen = drawn_tables(latest, names, seed=study.seed)
    rows = TableMaking.objects.filter(pk__in=chosen).order_by("judgment__pair_id", "judgment__repeat", "pk")
    about = ("matchup__instance__position", "generation_a__text", "generation_b__text")
    stored = rows.values_list("record", *(f"judgment__pair__{name}" for name in about))
    return [MadeTable.of(*one) for one in stored], len(latest)

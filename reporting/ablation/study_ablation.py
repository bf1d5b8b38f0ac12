"""A study's ways of judging side by side, read from the database and computed."""

from collections.abc import Collection
from typing import Any

from annotation.models import Study
from annotation.questions.questions import MAIN
from judging.ablation.judge_configurations import REFERENCE, parts_of
from judging.ablation.judges import ablation_judges
from judging.ablation.reading import judged_rounds, made_tables
from judging.ablation.round_arrays import KnownAspects
from judging.outcomes.gold import gold_pairs
from judging.outcomes.people import people_by_pair
from judging.runs.status import count_runs
from reporting.ablation.comparison import ALL, AblationData, compare


def ablation(study: Study, *, parts: Collection[str] = ALL, endpoint: str = "", **settings: Any) -> dict[str, Any]:
    """Compute every row of some parts, for all endpoints or for one; `settings` are more of `compare`'s."""
    data = read_ablation(study, parts=parts, endpoint=endpoint)
    return compare(data, parts=parts, endpoint=endpoint, **settings)


def read_ablation(
    study: Study, *, parts: Collection[str] = ALL, endpoint: str = "", aspects: KnownAspects | None = None
) -> AblationData:
    """Read what an ablation is computed from; `aspects` as of `ablation_judges`."""
    judges = [
        (judge, one)
        for judge, one in ablation_judges(study, endpoint=endpoint, aspects=aspects)
        if one.method == REFERENCE or not set(parts).isdisjoint(parts_of(one))  # the reference is for the differences
    ]
    return AblationData(
        slug=study.slug,
        gold=gold_pairs(study),
        judged=judged_rounds(study, judges),
        votes=people_by_pair(study),
        tables=lambda judge: made_tables(study, judge),
        runs=runs_by_judge(study),
    )


def runs_by_judge(study: Study) -> dict[str, list[dict[str, Any]]]:
    """Return the runs of every judge, by its name, on a study's main question, with their progress on it."""
    counts = count_runs(study)
    found: dict[str, list[dict[str, Any]]] = {}
    for run in study.judge_runs.select_related("judge").order_by("created_at", "pk"):
        if MAIN not in run.questions:
            continue
        counted = counts.get((run.pk, MAIN))
        row = {
            "run": run.pk,
            "status": run.status,
            "asked": counted.asked if counted else 0,
            "presentations": counted.total if counted else 0,
            "filter": run.pair_filter,
            "message": run.message,
        }
        found.setdefault(run.judge.name, []).append(row)
    return found

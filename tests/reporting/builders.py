"""Builds studies straight in the database, a few statements whatever their size."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.utils import timezone

from annotation.core.tables import Column, DataTable
from annotation.models import (
    Alignment,
    Annotator,
    Assignment,
    Batch,
    Display,
    Generation,
    Hit,
    HitPair,
    Instance,
    Matchup,
    Pair,
    Rating,
    SeparabilityRun,
    Slot,
    Study,
    System,
)
from annotation.models.members import main_group
from annotation.questions.questions import Answer
from annotation.studies.questions import question_named
from judging.models import Judge, JudgeRun, Judgment
from reporting.findings.computing import findings_under
from reporting.findings.data.inputs import Filters

GOLDEN = Path(__file__).parent.parent / "golden"
SHOWN_FIRST = Path(__file__).parent / "golden" / "shown_first.json"
GOLDEN_CONFIGURATIONS = {
    "gpt35_vicuna_cnndm": ("cnn_dm", "vicuna-7b", "gpt-3.5-turbo-instruct"),
    "vicuna_mistral_samsum": ("samsum", "mistral-7b", "vicuna-7b"),
}


@dataclass
class Built:
    """One configuration with a batch that has a HIT per instance."""

    study: Study
    dataset: str
    system_a: System
    system_b: System
    batch: Batch
    hits: list[Hit]
    matchups: list[Matchup]
    pairs: list[list[Pair]]


def findings(
    study: Study, *, question: str = "", batches: Sequence[Batch] | None = None, **settings: Any
) -> dict[str, Any]:
    """Compute a study's findings on a question, the main one by default; `settings` are further fields of `Filters`."""
    names = None if batches is None else tuple(batch.name for batch in batches)
    return findings_under(study, Filters(question=question_named(study, question), batches=names, **settings))


def build_study(slug: str = "tried") -> Study:
    """Make an empty study."""
    return Study.objects.create(slug=slug, title=slug, group=main_group())


def build_system(study: Study, name: str) -> System:
    """Find a system, or make it the next one."""
    return System.objects.get_or_create(study=study, name=name, defaults={"position": study.systems.count()})[0]


def build_configuration(
    study: Study,
    *,
    instances: int = 2,
    pairs: int = 5,
    dataset: str = "news",
    systems: tuple[str, str] = ("first-system", "second-system"),
    batch: str = "",
    prefix: str = "",
) -> Built:
    """Make instances with all their pairs, and a batch with a HIT for each."""
    a, b = (build_system(study, name) for name in systems)
    start = study.instances.count()
    rows = [
        Instance(
            study=study,
            instance_id=f"{prefix or dataset}-{n}",
            dataset=dataset,
            source=f"text {start + n}",
            position=start + n,
        )
        for n in range(instances)
    ]
    made = Instance.objects.bulk_create(rows)
    matchups = Matchup.objects.bulk_create(Matchup(instance=one, system_a=a, system_b=b) for one in made)
    texts = {
        system: Generation.objects.bulk_create(
            Generation(instance=one, system=system, index=index, text=f"text {index}")
            for one in made
            for index in range(pairs)
        )
        for system in (a, b)
    }
    flat = Pair.objects.bulk_create(
        Pair(matchup=matchup, index=index, generation_a=texts[a][place], generation_b=texts[b][place])
        for row, matchup in enumerate(matchups)
        for index, place in enumerate(range(row * pairs, (row + 1) * pairs))
    )
    by_matchup = [flat[row * pairs : (row + 1) * pairs] for row in range(instances)]
    return build_batch(study, dataset, a, b, matchups, by_matchup, name=batch or f"{prefix or dataset}-batch")


def build_batch(
    study: Study, dataset: str, a: System, b: System, matchups: list[Matchup], pairs: list[list[Pair]], *, name: str
) -> Built:
    """Publish all pairs of the matchups, one HIT each."""
    batch = Batch.objects.create(
        study=study,
        name=name,
        dataset=dataset,
        system_a=a,
        system_b=b,
        pairs_per_hit=max(1, *(len(row) for row in pairs)) if pairs else 1,
        raters_per_hit=3,
    )
    hits = Hit.objects.bulk_create(Hit(batch=batch, matchup=m, position=n) for n, m in enumerate(matchups))
    HitPair.objects.bulk_create(
        HitPair(hit=hit, pair=pair, position=place)
        for hit, row in zip(hits, pairs, strict=True)
        for place, pair in enumerate(row)
    )
    return Built(study, dataset, a, b, batch, hits, matchups, pairs)


def rate(
    built: Built,
    place: int,
    code: str,
    verdicts: Sequence[int | None],
    *,
    a_is_left: Sequence[bool | None] | None = None,
    kind: str = "account",
    state: str = "submitted",
    fills_slot: bool = True,
    **rating: Any,
) -> Assignment:
    """Let an annotator rate the HIT at `place`; None leaves a pair without a vote."""
    annotator, _ = Annotator.objects.get_or_create(study=built.study, code=code, defaults={"kind": kind})
    hit = built.hits[place]
    assignment = Assignment.objects.create(
        hit=hit, annotator=annotator, state=state, submitted_at=timezone.now() if state == "submitted" else None
    )
    if fills_slot:
        Slot.objects.create(
            hit=hit, batch=hit.batch, position=hit.position, number=hit.slots.count(), assignment=assignment
        )
    left = a_is_left or [True] * len(verdicts)
    shown = Display.objects.bulk_create(
        Display(assignment=assignment, pair=pair, position=n, a_is_left=left[n])
        for n, pair in enumerate(built.pairs[place])
    )
    Rating.objects.bulk_create(
        Rating(display=display, verdict=verdict, rated_at=timezone.now(), **rating)
        for display, verdict in zip(shown, verdicts, strict=True)
        if verdict is not None
    )
    return assignment


def separate(
    built: Built,
    alignments: Sequence[tuple[float | None, float | None, float]],
    separabilities: Sequence[float | None],
    *,
    similarity: str = "rouge1",
    bounds: tuple[float, float] = (0.0, 1.0),
    **measure: Any,
) -> SeparabilityRun:
    """Store alignments (self A, self B, cross) and separability of each instance; `measure` is more of the run's fields."""
    run = SeparabilityRun.objects.create(
        study=built.study,
        dataset=built.dataset,
        system_a=built.system_a,
        system_b=built.system_b,
        similarity=similarity,
        **measure,
        group="configuration",
        low=bounds[0],
        high=bounds[1],
        texts_sha256="0" * 64,
        software_version="0",
    )
    Alignment.objects.bulk_create(
        Alignment(run=run, matchup=matchup, self_a=own_a, self_b=own_b, cross=cross, separability=value)
        for matchup, (own_a, own_b, cross), value in zip(built.matchups, alignments, separabilities, strict=True)
    )
    return run


def build_golden(study: Study, key: str) -> Built:
    """Store the published votes of one configuration, every rating set with what was shown first."""
    dataset, a, b = GOLDEN_CONFIGURATIONS[key]
    items = json.loads((GOLDEN / "human_rating_sets.json").read_text(encoding="utf-8"))[key]
    shown = json.loads(SHOWN_FIRST.read_text(encoding="utf-8"))[key]
    built = build_configuration(study, instances=len(items), pairs=5, dataset=dataset, systems=(a, b))
    for place, (item, first) in enumerate(zip(items, shown, strict=True)):
        for one in item["sets"]:
            code = f"{dataset}-{one['worker']}"
            rate(built, place, code, one["r"], a_is_left=[system == 1 for system in first], kind="imported")
    return built


def judge(
    built: Built, name: str, cells: Sequence[tuple[int, int, str, int | str]], *, order: str = "random"
) -> JudgeRun:
    """Let a judge answer cells (place of the matchup, pair, order shown, verdict or failed status) in a run of the study."""
    made, _ = Judge.objects.get_or_create(name=name, defaults={"method": "direct", "order": order, "params": {"t": 0}})
    run, _ = JudgeRun.objects.get_or_create(study=built.study, judge=made, defaults={"status": "done"})
    Judgment.objects.bulk_create(
        Judgment(
            run=run,
            pair=built.pairs[place][pair],
            order=shown,
            status=answer if isinstance(answer, str) else "parsed",
            verdict=None if isinstance(answer, str) else answer,
        )
        for place, pair, shown, answer in cells
    )
    return run


def answer_too(assignment: Assignment, answers: Sequence[Answer | int | None], *, question: int = 1) -> None:
    """Let the rater of an assignment answer a further question on its pairs; None leaves a pair without an answer."""
    given = [Answer(one) if isinstance(one, int) else one for one in answers]
    Rating.objects.bulk_create(
        Rating(
            display=display,
            question=question,
            verdict=one.verdict,
            strength=one.strength,
            tie_kind=one.tie_kind,
            rated_at=assignment.submitted_at,
        )
        for display, one in zip(assignment.displays.order_by("position"), given, strict=True)
        if one is not None
    )


def labels(table: DataTable) -> list[str]:
    """Return the headings of a table."""
    return [column.label if isinstance(column, Column) else column for column in table.columns]

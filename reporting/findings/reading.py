"""Models → arrays: everything that findings are computed from, read by the filters."""

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
from django.db.models.functions import Length

from annotation.models import Alignment, Batch, Matchup, Pair, SeparabilityRun, Study
from annotation.quality.hidden_checks import scores_of
from annotation.studies.configurations import Configuration, configurations, without_checks
from annotation.studies.gold import gold_verdict
from annotation.studies.log import shown_with_results
from annotation.studies.outcomes import Selection, batches_for_rating, batches_named, select, separabilities
from annotation.studies.separability_runs import SeparabilityRuns, find_run, runs_by_configuration
from judging.models import JudgeRun
from judging.outcomes.judgments import judges_of
from reporting.core.judge_raters import judge_raters
from reporting.core.people import people_rater, scripted_codes
from reporting.core.selected_batches import selection_rows
from reporting.findings.inputs import (
    Checks,
    Compared,
    ComparedSystem,
    ConfigurationData,
    Filters,
    Pairs,
    Selected,
    StudyAlignments,
    StudyData,
)
from reporting.findings.separability_bins import NOT_COMPUTED, Measured, Separability, separability_of


def read_study(study: Study, filters: Filters) -> StudyData:
    """Read a study's configurations, as far as the filters cover them, with all verdicts on them.

    Raises: UnknownName for an unknown batch.
    """
    batches = None if filters.batches is None else batches_named(study, filters.batches)
    known = configurations(study, checks=False)
    covered = known if batches is None else [one for one in known if any(map(_is_of(one), batches))]
    runs, judges = runs_by_configuration(study), _judge_runs(study, batches, filters)
    read = [_configuration(one, batches, runs.get(one.key, []), judges, filters) for one in covered]
    data = tuple(one for one, _ in read)
    codes = {code for one in data for code in one.people.rated.raters}
    return StudyData(
        slug=study.slug,
        configurations=data,
        alignments=_alignments(known, runs, [selection for _, selection in read], filters.similarity),
        scripted=frozenset(scripted_codes(study)),
        checks=_checks(study, codes),
        amendments=shown_with_results(study),
    )


def _is_of(one: Configuration) -> Any:
    return lambda batch: (batch.dataset, batch.system_a_id, batch.system_b_id) == one.key


def _judge_runs(study: Study, batches: Sequence[Batch] | None, filters: Filters) -> list[JudgeRun]:
    found = judges_of(study, batches, question=filters.question_number)
    return [run for run in found if filters.judges is None or run.judge.name in filters.judges]


def _configuration(
    one: Configuration,
    batches: Sequence[Batch] | None,
    runs: list[SeparabilityRun],
    judges: Sequence[JudgeRun],
    filters: Filters,
) -> tuple[ConfigurationData, Selection]:
    selection = select(one, batches)
    question, drop = filters.question_number, filters.drop_incomplete
    systems = [ComparedSystem(system.name, system.family) for system in (one.system_a, one.system_b)]
    data = ConfigurationData(
        configuration=Compared(one.dataset, *systems),
        selection=Selected(selection.instance_ids, _pairs(selection)),
        separability=_separability(selection, runs, filters),
        people=people_rater(selection, batches, stage=filters.stage, question=question, drop_incomplete=drop),
        judges=judge_raters(selection, judges, question=question, drop_incomplete=drop),
        chosen=selection_rows(batches_for_rating(one), batches),
    )
    return data, selection


def _pairs(selection: Selection) -> Pairs:
    """Read the pairs of a selection, with the lengths of their texts and the gold of their instances."""
    one, codes = selection.configuration, selection.codes
    gold = dict(one.matchups().values_list("pk", "instance__gold"))
    stored = Pair.objects.filter(matchup__in=one.matchups().order_by()).order_by("matchup__instance__position", "index")
    lengths = (Length("generation_a__text"), Length("generation_b__text"))
    rows = [row for row in stored.values_list("pk", "matchup_id", "index", *lengths) if row[0] in selection.pair_ids]
    verdicts = [gold_verdict(gold[row[1]], one.system_a.name, one.system_b.name) for row in rows]
    return Pairs(
        instance=np.array([codes[row[1]] for row in rows], dtype=np.int64),
        index=np.array([row[2] for row in rows], dtype=np.int64),
        length_a=np.array([row[3] for row in rows], dtype=np.float64),
        length_b=np.array([row[4] for row in rows], dtype=np.float64),
        gold=np.array([np.nan if verdict is None else verdict for verdict in verdicts], dtype=np.float64),
    )


def _separability(selection: Selection, runs: list[SeparabilityRun], filters: Filters) -> Separability:
    """Find the run for a similarity, a label or no name (`find_run`), and bin the selection's instances."""
    run = find_run(runs, filters.similarity)
    if run is None:
        under = f" with {filters.similarity}" if filters.similarity else ""
        return Separability(None, np.full(len(selection.matchup_ids), np.nan), None, f"{NOT_COMPUTED}{under}")
    computed = set(run.alignments.values_list("matchup_id", flat=True))
    not_computed = len(set(selection.matchup_ids) - computed)
    values = separabilities(selection, run)
    return separability_of(values, _measured(run), not_computed=not_computed, bins=filters.bins)


def _measured(run: SeparabilityRun) -> Measured:
    names = ("model", "model_fingerprint", "samples", "cross_pairs", "seed")
    settings = {name: value for name in names if (value := getattr(run, name)) not in (None, "")}
    return Measured(run.similarity, settings, run.group, run.low, run.high)


def _alignments(
    known: Sequence[Configuration], runs: SeparabilityRuns, selections: Sequence[Selection], similarity: str | None
) -> StudyAlignments | None:
    """Read the alignments of all configurations by one measure that every one has, if there is one."""
    chosen = _runs_by_shared_measure([runs.get(one.key, []) for one in known], similarity)
    if chosen is None:
        return None
    compared = without_checks(Matchup.objects.order_by())
    rows = Alignment.objects.filter(run__in=chosen, matchup__in=compared).order_by("matchup_id")
    columns = list(rows.values_list("matchup_id", "self_a", "self_b", "cross"))
    row_of = {column[0]: row for row, column in enumerate(columns)}
    return StudyAlignments(
        _measured(chosen[0]),
        np.array([column[1:] for column in columns], dtype=np.float64).reshape(-1, 3),
        tuple(np.array([row_of.get(pk, -1) for pk in one.matchup_ids], dtype=np.int64) for one in selections),
    )


def _runs_by_shared_measure(runs: list[list[SeparabilityRun]], similarity: str | None) -> list[SeparabilityRun] | None:
    """Pick one run per configuration, all by one measure that every configuration has (see `find_run`)."""
    by_measure = [{run.measure: run for run in reversed(listed)} for listed in runs]
    shared = [
        run
        for run in sorted((run for listed in runs for run in listed), key=lambda run: run.computed_at, reverse=True)
        if all(run.measure in known for known in by_measure)
    ]
    found = find_run(shared, similarity)
    return [known[found.measure] for known in by_measure] if found is not None else None


def _checks(study: Study, codes: Collection[str]) -> dict[str, Checks]:
    """Read the hidden checks of the people with these codes; those who were given none are left out."""
    people = {pk: code for pk, code in study.annotators.values_list("pk", "code") if code in codes}
    found = {people[pk]: one for pk, one in scores_of(people).items() if one.gold_asked or one.repeat_asked}
    return {
        code: Checks(one.gold_asked, one.gold_right, one.repeat_asked, one.repeat_same) for code, one in found.items()
    }

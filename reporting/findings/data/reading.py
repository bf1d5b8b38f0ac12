"""Models → arrays: everything that findings are computed from, read by the filters."""

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import TypeVar

import numpy as np
from django.db.models import Count, Exists, F, Min, OuterRef, Q, QuerySet
from django.db.models.functions import Length

from analysis.types import IntArray, Outcomes
from annotation.core.database.columns import number_columns, places
from annotation.core.names import BASELINES
from annotation.models import Alignment, Assignment, Batch, Event, Matchup, Pair, Rating, SeparabilityRun, Slot, Study
from annotation.models.separability import find_run
from annotation.planning.frozen_plans import content_today, frozen_plan
from annotation.quality.hidden_checks import scores_of
from annotation.studies.configurations import (
    Configuration,
    SeparabilityRuns,
    configurations,
    runs_by_configuration,
    without_checks,
)
from annotation.studies.instances import Clusters, gold_verdict, instance_clusters
from annotation.studies.log import shown_with_results
from annotation.studies.outcomes import (
    Selection,
    batches_named,
    human_answers_on_each,
    select_each,
    select_unplaced,
)
from annotation.studies.votes import RatedPairs, Whose
from judging.methods.sc2.record import MAKING
from judging.models import Judge
from judging.outcomes.judgments import judges_of, judgments_on_each
from judging.outcomes.provenance import provenance_of_judges, settings_of_judges
from reporting.core.instance_selection import selection_rows_by_configuration, with_mixed_draws
from reporting.core.raters import Rater, rater_of_people, raters_of_judges, scripted_codes
from reporting.findings.data.inputs import (
    Checks,
    Compared,
    ComparedSystem,
    ConfigurationData,
    Filters,
    JuryMembers,
    Pairs,
    Planned,
    StudyAlignments,
    StudyData,
)
from reporting.findings.data.separability_bins import (
    Separability,
    SeparabilityMeasure,
    separability_of,
    why_not_computed,
)

Key = tuple[str, int, int]  # of a configuration
Chances = TypeVar("Chances", Selection, RatedPairs)
# Of slots. The work of a rater who has withdrawn is in no finding, nor in a bundle.
_IS_SUBMITTED = Q(assignment__state=Assignment.State.SUBMITTED, assignment__annotator__withdrawn_at=None)


def read_study(study: Study, filters: Filters) -> StudyData:
    """Read a study's configurations, as far as the filters cover them, with all verdicts on them.

    A first pass reads neither times, lengths of texts nor hidden checks, which nothing in it shows.

    Raises: UnknownName for an unknown batch.
    """
    batches = None if filters.batches is None else batches_named(study, filters.batches)
    existing = configurations(study, checks=False)
    keys = None if batches is None else set(map(_key, batches))
    covered = [
        item
        for item in existing
        if (filters.datasets is None or item.dataset in filters.datasets)
        and {item.system_a.name, item.system_b.name} >= set(filters.systems or ())
        and (keys is None or item.key in keys)
    ]
    selections, runs = select_each(study, covered, batches), runs_by_configuration(study)
    pairs, separabilities = _pairs(study, selections, filters), _separabilities(selections, runs, filters)
    mixed = with_mixed_draws(study.batches.for_rating(), batches)
    selections = [_without_chances(item) if item.configuration.key in mixed else item for item in selections]
    raters = Whose(filters.raters, filters.arms, filters.with_excluded)
    answers = human_answers_on_each(
        study,
        selections,
        batches,
        stage=filters.stage,
        question=filters.question_number,
        raters=raters,
        timed=not filters.estimates_only,
    )
    answers = [
        replace(item, rated=_without_chances(item.rated)) if selection.configuration.key in mixed else item
        for selection, item in zip(selections, answers, strict=True)
    ]
    people = [rater_of_people(item, with_incomplete=filters.with_incomplete) for item in answers]
    clusters = None if filters.estimates_only else instance_clusters(study)
    selected = selection_rows_by_configuration(study.batches.for_rating(), batches)
    judges_asked = [run.judge for run in judges_of(study, batches, question=filters.question_number)]
    judges_chosen = [item for item in judges_asked if filters.judges is None or item.name in filters.judges]
    unplaced = select_unplaced(study, _wholly_selected(study, selections, batches))
    judges, judged_only = _judges(study, selections, unplaced, filters, judges_chosen)
    unplaced_clusters = {item.configuration.key: _clusters(item, clusters) for item in unplaced}
    return StudyData(
        slug=study.slug,
        configurations=tuple(
            ConfigurationData(
                configuration=Compared(
                    selection.configuration.dataset,
                    *(
                        ComparedSystem(system.name, system.family)
                        for system in (selection.configuration.system_a, selection.configuration.system_b)
                    ),
                ),
                instance_ids=selection.instance_ids,
                pairs=pairs[index],
                clusters=_clusters(selection, clusters),
                separability=separabilities[index],
                people=people[index],
                judges=judges[index],
                chosen=selected.get(selection.configuration.key, []),
                judged_only=judged_only.get(selection.configuration.key, {}),
                judged_only_clusters=unplaced_clusters.get(selection.configuration.key),
            )
            for index, selection in enumerate(selections)
        ),
        alignments=_alignments(existing, runs, selections, filters.similarity),
        scripted=frozenset(scripted_codes(study)),
        checks={}
        if filters.estimates_only
        else _checks(study, {code for person in people for code in person.rated.raters}),
        amendments=shown_with_results(study),
        tuned={item.name: len(item.tuned["instances"]) for item in judges_chosen if "instances" in item.tuned},
        juries=tuple(JuryMembers.of(item.name, item.params) for item in judges_chosen if item.is_jury),
        baselines=frozenset(judge.name for judge in judges_chosen if judge.method in BASELINES),
        judges_not_shown=sum(judge not in judges_chosen and judge.method not in BASELINES for judge in judges_asked),
        collecting=is_collecting(study, batches),
        planned=_planned(study, batches),
        provenance={} if filters.estimates_only else provenance_of_judges(study, judges_chosen, MAKING),
    )


def _clusters(selection: Selection, clusters: Clusters | None) -> IntArray | None:
    if clusters is None:
        return None
    return np.array([clusters.by_id[instance_id] for instance_id in selection.instance_ids], dtype=np.int64)


def _planned(study: Study, batches: Collection[Batch] | None) -> Planned | None:
    plan = frozen_plan(study)
    if plan is None:
        return None
    values = {"batch": F("name"), "pairs": F("pairs_per_hit"), "raters": F("raters_per_hit")}
    designs = tuple(_collected(study, batches).values("stop_rule", **values))
    ratings = Rating.objects.filter(
        display__assignment__hit__batch__in=study.batches.for_rating(),
        display__assignment__annotator__withdrawn_at=None,
    )
    imported = Q(display__assignment__hit__batch__origin=Batch.Origin.IMPORTED)
    counts = ratings.aggregate(
        imported=Count("pk", filter=imported),
        undated=Count("pk", filter=~imported & Q(rated_at=None)),
        earlier=Count("pk", filter=~imported & Q(rated_at__lt=plan.frozen_at)),
    )
    first = ratings.aggregate(first=Min("rated_at"))["first"]
    amendments = study.events.filter(kind=Event.Kind.AMENDMENT, happened_at__gte=plan.frozen_at)
    slots = Slot.objects.filter(batch__in=_begun(_collected(study, batches)))
    is_excluded = Q(assignment__excluded=True) | Q(assignment__annotator__excluded=True)
    per_matchup = slots.order_by().values("hit__matchup").annotate(n=Count("pk", filter=_IS_SUBMITTED))
    content = content_today(study, plan)
    return Planned(
        plan.as_json(),
        content,
        plan.is_altered,
        designs,
        **counts,
        excluded=_submitted(slots).filter(is_excluded).count(),
        amended=amendments.filter(happened_at__gte=first).count() if first else 0,
        submitted=tuple(per_matchup.values_list("n", flat=True)),
        judge_settings=settings_of_judges(content.get("judges", [])),
    )


def _collected(study: Study, batches: Collection[Batch] | None) -> QuerySet[Batch]:
    collected = study.batches.for_rating().filter(origin=Batch.Origin.COLLECTED)
    return collected if batches is None else collected.filter(pk__in=[batch.pk for batch in batches])


def is_collecting(study: Study, batches: Collection[Batch] | None) -> bool:
    """Tell whether raters are still to submit HITs of a batch whose votes count, or a stop rule looks or looked at it."""
    collected = _collected(study, batches)
    begun = _begun(collected)  # a batch without votes has not been looked at
    if begun.exclude(stop_rule="").exists() or begun.filter(events__changes__has_key="stop_rule").exists():
        return True  # a rule that was dropped since has looked at it too
    at_work = begun.filter(status__in=(Batch.Status.OPEN, Batch.Status.PAUSED))
    # One look at each slot: Django's `exclude` would look up whether it is among the submitted ones.
    is_open = ~Q(assignment__state=Assignment.State.SUBMITTED) | Q(assignment__annotator__withdrawn_at__isnull=False)
    return Slot.objects.filter(is_open, batch__in=at_work).exists()


def _begun(batches: QuerySet[Batch]) -> QuerySet[Batch]:
    return batches.filter(Exists(_submitted(Slot.objects.filter(batch=OuterRef("pk")))))


def _submitted(slots: QuerySet[Slot]) -> QuerySet[Slot]:
    return slots.filter(_IS_SUBMITTED)


def _key(batch: Batch) -> Key:
    return batch.dataset, batch.system_a_id, batch.system_b_id


def _without_chances(of: Chances) -> Chances:
    return replace(of, chance=np.full_like(of.chance, np.nan))


def _judges(
    study: Study,
    selections: Sequence[Selection],
    unplaced: Sequence[Selection],
    filters: Filters,
    judges: Sequence[Judge],
) -> tuple[list[tuple[Rater, ...]], dict[Key, dict[str, Outcomes]]]:
    """Read judges on each selection, and by configuration their verdicts on instances that stand on no HIT."""
    # First those on no HIT: the other selections know their pairs too, as not selected.
    judged = judgments_on_each(study, [*unplaced, *selections], judges, question=filters.question_number)
    raters = [
        raters_of_judges(
            selection,
            ((judge, each[index]) for judge, each in zip(judges, judged, strict=True)),
            with_incomplete=filters.with_incomplete,
        )
        for index, selection in enumerate(selections, start=len(unplaced))
    ]
    return raters, {
        selection.configuration.key: {
            f"judge:{judge.name}": each[index].rated.outcomes for judge, each in zip(judges, judged, strict=True)
        }
        for index, selection in enumerate(unplaced)
    }


def _wholly_selected(
    study: Study, selections: Sequence[Selection], batches: Sequence[Batch] | None
) -> list[Configuration]:
    """Return the configurations that have batches, none of which is left out.

    Instances of a batch that is left out may be chosen ones: without them, those on no HIT are no fair rest.
    """
    rated = list(study.batches.for_rating())
    batch_ids = {batch.pk for batch in (rated if batches is None else batches)}
    is_whole = {_key(batch): True for batch in rated} | {
        _key(batch): False for batch in rated if batch.pk not in batch_ids
    }
    return [selection.configuration for selection in selections if is_whole.get(selection.configuration.key)]


def _pairs(study: Study, selections: Sequence[Selection], filters: Filters) -> list[Pairs]:
    """Read the lengths of the selected pairs' texts, and the gold of their instances."""
    stored = Pair.objects.none() if filters.estimates_only else Pair.objects.filter(matchup__instance__study=study)
    lengths = (Length("generation_a__text"), Length("generation_b__text"))
    key, *columns = number_columns(stored.order_by("pk"), "pk", *lengths)
    golden = Matchup.objects.filter(instance__study=study, instance__gold__isnull=False).order_by()
    gold_of = dict(golden.values_list("pk", "instance__gold"))
    results = []
    for selection in selections:
        order = np.flatnonzero(selection.instance >= 0)
        order = order[np.lexsort((selection.index[order], selection.instance[order]))]
        instance, at = selection.instance[order], places(key.astype(np.int64), selection.pair[order])
        named = [system.name for system in (selection.configuration.system_a, selection.configuration.system_b)]
        gold = [gold_verdict(gold_of.get(pk), *named) for pk in selection.matchup_ids] if gold_of else []
        of_instance = np.array(
            [np.nan if item is None else item for item in gold] or np.full(len(selection.matchup_ids), np.nan)
        )
        length_a, length_b = (np.append(length, np.nan)[at] for length in columns)
        results.append(Pairs(instance, selection.index[order], length_a, length_b, of_instance[instance]))
    return results


def _separabilities(selections: Sequence[Selection], runs: SeparabilityRuns, filters: Filters) -> list[Separability]:
    """Find each configuration's run for a similarity, a label or no name (`find_run`), and bin its instances."""
    selected = [find_run(runs.get(selection.configuration.key, []), filters.similarity) for selection in selections]
    stored = Alignment.objects.filter(run__in=[run for run in selected if run is not None]).order_by("matchup_id")
    key, value = number_columns(stored, "matchup_id", "separability")
    results = []
    for selection, run in zip(selections, selected, strict=True):
        # A matchup is of one configuration, and so of one run.
        row = places(key.astype(np.int64), np.array(selection.matchup_ids, dtype=np.int64))
        values = np.append(value, np.nan)[row]
        if run is None:
            why = why_not_computed(selection.index, filters.similarity)
            results.append(Separability(None, values, None, why))
        else:
            missing = int((row < 0).sum())
            results.append(separability_of(values, _measured(run), not_computed=missing, bins=filters.bins))
    return results


def _measured(run: SeparabilityRun) -> SeparabilityMeasure:
    return SeparabilityMeasure.of(run.measure, run.group, run.low, run.high)


def _alignments(
    existing: Sequence[Configuration], runs: SeparabilityRuns, selections: Sequence[Selection], similarity: str | None
) -> StudyAlignments | None:
    """Read the alignments of all configurations by one measure that every one has, if there is one."""
    shared_runs = _runs_by_shared_measure([runs.get(item.key, []) for item in existing], similarity)
    if shared_runs is None:
        return None
    study = existing[0].study
    compared = without_checks(study, Matchup.objects.filter(instance__study=study).order_by())
    rows = Alignment.objects.filter(run__in=shared_runs, matchup__in=compared).order_by("matchup_id")
    key, *raw = number_columns(rows, "matchup_id", "self_a", "self_b", "cross")
    return StudyAlignments(
        _measured(shared_runs[0]),
        np.stack(raw, axis=1),
        tuple(
            places(key.astype(np.int64), np.array(selection.matchup_ids, dtype=np.int64)) for selection in selections
        ),
    )


def _runs_by_shared_measure(runs: list[list[SeparabilityRun]], similarity: str | None) -> list[SeparabilityRun] | None:
    """Pick one run per configuration, all by one measure that every configuration has (see `find_run`)."""
    by_measure = [{run.measure: run for run in reversed(listed)} for listed in runs]
    shared = [
        run
        for run in sorted((run for listed in runs for run in listed), key=lambda run: run.computed_at, reverse=True)
        if all(run.measure in existing for existing in by_measure)
    ]
    shared_run = find_run(shared, similarity)
    return [existing[shared_run.measure] for existing in by_measure] if shared_run is not None else None


def _checks(study: Study, codes: Collection[str]) -> dict[str, Checks]:
    """Read the hidden checks of the people with these codes. Those who were given none are left out."""
    people = {pk: code for pk, code in study.annotators.values_list("pk", "code") if code in codes}
    scores = {people[pk]: item for pk, item in scores_of(people).items() if item.gold_asked or item.repeat_asked}
    return {
        code: Checks(item.gold_asked, item.gold_right, item.repeat_asked, item.repeat_same)
        for code, item in scores.items()
    }

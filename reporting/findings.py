"""The findings of a study as one JSON object: the numbers that pages, pictures, exports and the API all show."""

from collections.abc import Iterable, Sequence
from typing import Any

from annotation.configurations import Configuration, configurations
from annotation.models import Annotator, Batch, Study
from annotation.study_log import shown_with_results
from annotation.version import VERSION
from reporting.measured import Filters, Measured, Runs, measure, runs_of
from reporting.pooled import pooled_findings
from reporting.rankings import rankings
from reporting.rater_findings import between_people, rater_findings, with_people
from reporting.separability import separability_findings
from reporting.weighted import weighted_findings

SCRIPTED = "includes ratings by scripted raters: programs, not people"


def findings(
    study: Study,
    *,
    similarity: str | None = None,
    batches: Iterable[Batch] | None = None,
    bins: int = 4,
    drop_incomplete: bool = False,
    rounds: int = 1000,
    seed: int = 0,
) -> dict[str, Any]:
    """Compute all findings of a study.

    similarity      : whose separability to bin by; the most recently computed when left out
    batches         : look only at these batches' pairs and votes
    drop_incomplete : leave rating sets that lack a rating out of consistency and preference strength
    rounds, seed    : of the bootstrap; the same seed gives the same intervals
    """
    chosen = None if batches is None else tuple(batches)
    return findings_under(study, Filters(similarity, chosen, bins, drop_incomplete, rounds, seed))


def findings_under(study: Study, filters: Filters) -> dict[str, Any]:
    """Compute all findings of a study under the given filters."""
    runs = runs_of(study, filters)
    everything, scripted = _everything(study, runs, filters), scripted_codes(study)
    return {
        "study": study.slug,
        "version": VERSION,
        "filters": filters.described(),
        "configurations": [_configuration(measured, filters, scripted) for measured in everything],
        "pooled": _pooled(everything, runs, filters, scripted),
        "rankings": rankings(everything, filters),
        "amendments": shown_with_results(study),
    }


def findings_on_some(study: Study, filters: Filters, chosen: Sequence[Configuration]) -> dict[str, Any]:
    """Compute the findings of some configurations only, without what takes all of them together."""
    runs, scripted = runs_of(study, filters), scripted_codes(study)
    why = "not worked out on a page of a study with so many configurations; the command `findings` and the JSON have it"
    return {
        "study": study.slug,
        "version": VERSION,
        "filters": filters.described(),
        "configurations": [_configuration(measure(one, runs, filters), filters, scripted) for one in chosen],
        "pooled": {"mean_consistency_by_bin": None, "why": why, "scripted": bool(scripted)},
        "rankings": [],
        "amendments": shown_with_results(study),
    }


def findings_on(configuration: Configuration, filters: Filters) -> dict[str, Any]:
    """Compute one configuration's part of the findings; the same numbers as in the whole."""
    runs = runs_of(configuration.study, filters)
    measured = measure(configuration, runs, filters)
    return _configuration(measured, filters, scripted_codes(configuration.study))


def pooled_under(study: Study, filters: Filters) -> dict[str, Any]:
    """Compute the pooled part of the findings only; the same numbers as in the whole."""
    runs = runs_of(study, filters)
    return _pooled(_everything(study, runs, filters), runs, filters, scripted_codes(study))


def scripted_codes(study: Study) -> set[str]:
    """Return the codes of annotators that are programs."""
    return set(study.annotators.filter(kind=Annotator.Kind.SCRIPTED).values_list("code", flat=True))


def _everything(study: Study, runs: Runs, filters: Filters) -> list[Measured]:
    return [
        measure(configuration, runs, filters) for configuration in configurations(study) if filters.cover(configuration)
    ]


def _pooled(everything: list[Measured], runs: Runs, filters: Filters, scripted: set[str]) -> dict[str, Any]:
    programs = scripted & {code for measured in everything for code in measured.people.rated.raters}
    return {**pooled_findings(everything, runs, filters), "scripted": bool(programs)}


def _configuration(measured: Measured, filters: Filters, scripted: set[str]) -> dict[str, Any]:
    named, sampler, label = measured.configuration, filters.sampler, measured.label
    bins = measured.separability.bins
    return {
        "dataset": named.dataset,
        "system_a": named.system_a.name,
        "system_b": named.system_b.name,
        "instances": len(measured.selection.matchup_ids),
        "pairs": len(measured.selection.pair_ids),
        **separability_findings(measured.selection, measured.separability),
        "raters": [_people(measured, filters, scripted)]
        + [
            {
                **rater_findings(judge.rater, bins, sampler, label),
                **weighted_findings(judge.rater, sampler, label),
                **_why_no_bins(measured),
                **judge.status,
                **with_people(judge.rater, measured.people, sampler, label),
            }
            for judge in measured.judges
        ],
    }


def _people(measured: Measured, filters: Filters, scripted: set[str]) -> dict[str, Any]:
    people, sampler, label = measured.people, filters.sampler, measured.label
    programs = len(scripted & set(people.rated.raters))
    return {
        **rater_findings(people, measured.separability.bins, sampler, label),
        **weighted_findings(people, sampler, label),
        **_why_no_bins(measured),
        "scripted": programs > 0,
        "scripted_raters": programs,
        **({"note": SCRIPTED} if programs else {}),
        **between_people(people, sampler, label),
    }


def _why_no_bins(measured: Measured) -> dict[str, str]:
    return {} if measured.separability.bins else {"why": f"no bins: {measured.separability.why}"}

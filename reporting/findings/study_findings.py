"""The findings of a study as one JSON object, which pages, charts, exports and the API all show."""

from collections.abc import Iterable, Sequence
from typing import Any

from annotation.core.version import VERSION
from annotation.models import Batch, Study
from annotation.studies.configurations import Configuration, configurations
from annotation.studies.log import shown_with_results
from annotation.studies.questions import question_named
from reporting.core.instance_selection import selection_note
from reporting.core.scripted import SCRIPTED, scripted_codes
from reporting.findings.inputs import ConfigurationData, Filters, Runs, read_configuration, runs_of
from reporting.findings.measures import MeasureInput, compute_measures
from reporting.findings.pooled import pooled_findings
from reporting.findings.rankings import rankings
from reporting.findings.rater_findings import rater_findings
from reporting.findings.separability_bins import separability_findings
from reporting.findings.study_scale import StudyScale, study_scale
from reporting.findings.weighted import weighted_findings


def findings(
    study: Study,
    *,
    similarity: str | None = None,
    batches: Iterable[Batch] | None = None,
    bins: int = 4,
    drop_incomplete: bool = False,
    rounds: int = 1000,
    seed: int = 0,
    judges: tuple[str, ...] | None = None,
    question: str = "",
) -> dict[str, Any]:
    """Compute all findings of a study.

    similarity      : whose separability to bin by; the most recently computed when left out
    batches         : only these batches' pairs and votes
    drop_incomplete : leave rating sets that lack a rating out of consistency and preference strength
    rounds, seed    : of the bootstrap; the same seed gives the same intervals
    judges          : names of the judges to show; all when left out
    question        : the key of the question that they are about; the main one when left out
    """
    chosen = None if batches is None else tuple(batches)
    about = question_named(study, question)
    return findings_under(
        study, Filters(similarity, chosen, bins, drop_incomplete, rounds, seed, judges=judges, question=about)
    )


def findings_under(study: Study, filters: Filters) -> dict[str, Any]:
    """Compute all findings of a study under the given filters."""
    runs = runs_of(study, filters)
    everything, scripted = _read_all(study, runs, filters), scripted_codes(study)
    scale = study_scale(everything, runs, filters)
    return {
        "study": study.slug,
        "version": VERSION,
        "filters": filters.as_json(),
        "configurations": [_configuration(data, filters, scripted) for data in everything],
        "pooled": _pooled(everything, scale, filters, scripted),
        "rankings": rankings(everything, filters),
        "amendments": shown_with_results(study),
    }


def findings_on_some(study: Study, filters: Filters, chosen: Sequence[Configuration]) -> dict[str, Any]:
    """Compute the findings of some configurations, without the pooled part and the rankings."""
    runs, scripted = runs_of(study, filters), scripted_codes(study)
    why = "not worked out on a page of a study with so many configurations; the command `findings` and the JSON have it"
    return {
        "study": study.slug,
        "version": VERSION,
        "filters": filters.as_json(),
        "configurations": [_configuration(read_configuration(one, runs, filters), filters, scripted) for one in chosen],
        "pooled": {"mean_consistency_by_bin": None, "why": why, "scripted": bool(scripted)},
        "rankings": [],
        "amendments": shown_with_results(study),
    }


def findings_on(configuration: Configuration, filters: Filters) -> dict[str, Any]:
    """Compute one configuration's part of the findings, with the same numbers as in `findings_under`."""
    runs = runs_of(configuration.study, filters)
    data = read_configuration(configuration, runs, filters)
    return _configuration(data, filters, scripted_codes(configuration.study))


def pooled_under(study: Study, filters: Filters) -> dict[str, Any]:
    """Compute the pooled part of the findings, with the same numbers as in `findings_under`."""
    runs = runs_of(study, filters)
    everything = _read_all(study, runs, filters)
    return _pooled(everything, study_scale(everything, runs, filters), filters, scripted_codes(study))


def _read_all(study: Study, runs: Runs, filters: Filters) -> list[ConfigurationData]:
    return [
        read_configuration(configuration, runs, filters)
        for configuration in configurations(study, checks=False)
        if filters.covers(configuration)
    ]


def _pooled(
    everything: list[ConfigurationData], scale: StudyScale, filters: Filters, scripted: set[str]
) -> dict[str, Any]:
    programs = scripted & {code for data in everything for code in data.people.rated.raters}
    note = selection_note([row for data in everything for row in data.chosen])
    return {
        **pooled_findings(everything, scale, filters),
        "scripted": bool(programs),
        **({"chosen_note": note} if note else {}),
    }


def _configuration(data: ConfigurationData, filters: Filters, scripted: set[str]) -> dict[str, Any]:
    named, resampler, label = data.configuration, filters.resampler, data.label
    bins = data.separability.bins
    return {
        "dataset": named.dataset,
        "system_a": named.system_a.name,
        "system_b": named.system_b.name,
        "instances": len(data.selection.matchup_ids),
        "pairs": len(data.selection.pair_ids),
        "chosen": data.chosen,
        **({"chosen_note": selection_note(data.chosen)} if data.chosen else {}),
        **separability_findings(data.selection, data.separability),
        "raters": [_people(data, filters, scripted)]
        + [
            {
                **rater_findings(judge.rater, bins, resampler, label),
                **weighted_findings(judge.rater, resampler, label),
                **_why_no_bins(data),
                **judge.status,
                **compute_measures(MeasureInput(judge.rater, data.people, resampler, label)),
            }
            for judge in data.judges
        ],
    }


def _people(data: ConfigurationData, filters: Filters, scripted: set[str]) -> dict[str, Any]:
    people, resampler, label = data.people, filters.resampler, data.label
    programs = len(scripted & set(people.rated.raters))
    return {
        **rater_findings(people, data.separability.bins, resampler, label),
        **weighted_findings(people, resampler, label),
        **_why_no_bins(data),
        "scripted": programs > 0,
        "scripted_raters": programs,
        **({"note": SCRIPTED} if programs else {}),
        **compute_measures(MeasureInput(people, people, resampler, label)),
    }


def _why_no_bins(data: ConfigurationData) -> dict[str, str]:
    return {} if data.separability.bins else {"why": f"no bins: {data.separability.why}"}

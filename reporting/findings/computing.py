"""The findings of a study as one JSON object."""

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from annotation.core.reasons import Reason
from annotation.core.version import VERSION
from annotation.models import Study
from reporting.core.instance_selection import selection_note
from reporting.findings.answer.answer import answer, being_computed
from reporting.findings.answer.planned import plan_findings
from reporting.findings.data.inputs import ConfigurationData, Filters, StudyData
from reporting.findings.data.reading import read_study
from reporting.findings.data.separability_bins import Bins
from reporting.findings.data.vote_table import VoteTable, cluster_counts, horizon, vote_table
from reporting.findings.judges.biases import length_adjusted, self_preference
from reporting.findings.judges.judges_against_people import (
    agreement_by_bin,
    judge_agreement,
    judge_probabilities,
    judge_tests,
    judges_against_people,
    jury_findings,
)
from reporting.findings.judges.replacement import replacement
from reporting.findings.measures.rater_findings import configuration_findings
from reporting.findings.pooled.pooled import (
    StudyScale,
    generalizability_findings,
    people_agreement,
    pooled_bins,
    pooled_findings,
    pooled_positions,
    rater_pairs,
    study_scale,
)
from reporting.findings.rankings.rankings import ranking_findings
from reporting.findings.raters.aggregated_verdicts import aggregated_verdicts, rater_severity
from reporting.findings.raters.raters_table import raters_table

BEING_COMPUTED = "intervals, tests, Elo ratings, verdicts on judges, raters one by one"
LATER_REASON = Reason("being_computed", BEING_COMPUTED)
TUNED_NOTE = "tuned on people's ratings on these instances, which are left out of all that is said of it"
# What a first pass leaves out, by its keys.
LATER: dict[str, Any] = {
    "raters": [],
    "rater_severity": {"toward": None, "raters": [], "between": {}, **LATER_REASON.as_json()},
    "dawid_skene": {"configurations": None, "people": None, **LATER_REASON.as_json()},
    "replacement": [],
    "judges_against_people": [],
    "judge_probabilities": [],
    "judge_agreement": None,
    "judge_tests": [],
    "juries": [],
    "tuned_judges": [],
    "self_preference": [],
    "length_adjusted": [],
    "provenance": [],
    "plan": None,
}
LATER_POOLED = ("agreement_by_bin", "people_agreement", "rater_pairs", "generalizability")


def findings_under(study: Study, filters: Filters) -> dict[str, Any]:
    """Read a study and compute all its findings under the given filters.

    Raises: UnknownName for an unknown batch.
    """
    return compute_findings(read_study(study, filters), filters)


def compute_findings(data: StudyData, filters: Filters) -> dict[str, Any]:
    """Compute all findings from what was read under the same filters."""
    scale = study_scale(data)
    bins = pooled_bins(scale)
    votes = vote_table(data.configurations, bins)
    filters = replace(filters, clusters=votes.clusters, horizon=horizon(votes, collecting=data.collecting))
    findings = _described(data, votes, scale, filters)
    of_people = {
        "people_agreement": people_agreement(votes, filters.intervals),
        "rater_pairs": rater_pairs(votes, filters.intervals),
        "generalizability": generalizability_findings(votes, filters.intervals),
    }
    raters = {
        "raters": raters_table(data, votes, filters),
        "rater_severity": rater_severity(votes, filters.intervals),
        "dawid_skene": aggregated_verdicts(data.configurations, votes),
    }
    juries = {jury.name for jury in data.juries}
    judges = judge_findings(data.configurations, votes, bins, filters, data.baselines, data.judges_not_shown) | {
        "judge_agreement": judge_agreement(votes, juries, data.baselines, filters.intervals),
        "juries": jury_findings(data.juries, votes, filters),
        "tuned_judges": [
            {"judge": name, "instances_left_out": left_out, "note": TUNED_NOTE} for name, left_out in data.tuned.items()
        ],
        "provenance": [{"judge": name, **judge.as_json()} for name, judge in data.provenance.items()],
    }
    by_bin = agreement_by_bin(votes, judges["judges_against_people"], bins, filters)
    findings["pooled"] |= {"agreement_by_bin": by_bin, **of_people}
    findings |= raters | judges
    rated = len(np.unique(votes.instance[votes.is_rated]))
    findings["plan"] = plan_findings(data.planned, findings, rated)
    return {**findings, "answer": answer(findings)}


def judge_findings(
    everything: Sequence[ConfigurationData],
    votes: VoteTable,
    bins: Bins | None,
    filters: Filters,
    baselines: Collection[str] = (),
    not_shown: int = 0,
) -> dict[str, Any]:
    """Return the findings about judges and people, by their keys in the JSON."""
    against = judges_against_people(votes, bins, filters)
    kappas = {row["rater"]: row["overall"]["kappa"] for row in against}
    return {
        "replacement": replacement(everything, votes, bins, filters, kappas, baselines, not_shown),
        "judges_against_people": against,
        "judge_tests": judge_tests(votes, filters),
        "judge_probabilities": judge_probabilities(votes, filters.intervals),
        "self_preference": self_preference(everything, votes, filters),
        "length_adjusted": length_adjusted(everything, votes, filters),
    }


def compute_estimates(data: StudyData, filters: Filters) -> dict[str, Any]:
    """Compute a first pass: values without intervals, and nothing that rests on intervals or tests.

    Keys are those of `compute_findings`, with `being_computed`, which names what a second pass adds.
    """
    findings = _described(
        data, vote_table(data.configurations), study_scale(data), replace(filters, estimates_only=True)
    )
    findings["pooled"] |= dict.fromkeys(LATER_POOLED)
    return {**findings, **LATER, "being_computed": BEING_COMPUTED, "answer": being_computed()}


def compute_rankings(data: StudyData, filters: Filters) -> dict[str, list[dict[str, Any]]]:
    """Compute `rankings`, `win_matrices` and `system_tests` alone, as `compute_findings` does."""
    votes = vote_table(data.configurations)
    filters = replace(filters, clusters=votes.clusters, horizon=horizon(votes, collecting=data.collecting))
    return ranking_findings(data.configurations, votes, study_scale(data), filters)


def _described(data: StudyData, votes: VoteTable, scale: StudyScale, filters: Filters) -> dict[str, Any]:
    programs = data.scripted & {
        code for configuration in data.configurations for code in configuration.people.rated.raters
    }
    note = selection_note([row for configuration in data.configurations for row in configuration.chosen])
    return {
        "study": data.slug,
        "version": VERSION,
        "filters": filters.as_json(),
        "configurations": [
            configuration_findings(configuration, filters, data.scripted) for configuration in data.configurations
        ],
        "clusters": cluster_counts(votes),
        "horizon": filters.horizon,
        "pooled": {
            **pooled_findings(data.configurations, votes, scale, filters, data.baselines),
            "preferred_first": pooled_positions(data.configurations, votes, filters.intervals, data.baselines),
            "scripted": bool(programs),
            **({"chosen_note": note} if note else {}),
        },
        **ranking_findings(data.configurations, votes, scale, filters),
        "baselines": sorted(data.baselines),
        "amendments": data.amendments,
    }

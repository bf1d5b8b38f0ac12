"""The findings on one configuration, as JSON: its separability, people and each judge."""

from dataclasses import replace
from typing import Any

from reporting.core.estimates import IntervalSettings
from reporting.core.instance_selection import selection_note
from reporting.core.raters import Rater
from reporting.core.text import SCRIPTED
from reporting.core.votes import Units, units
from reporting.findings.data.inputs import ConfigurationData, Filters
from reporting.findings.data.separability_bins import separability_findings
from reporting.findings.measures.agreement import confusion_findings, consistency_of_instances
from reporting.findings.measures.rater_findings import few_raters_note, rater_findings, weighted_findings
from reporting.findings.measures.registry import MeasureInput, compute_measures


def configuration_findings(data: ConfigurationData, filters: Filters, scripted: frozenset[str]) -> dict[str, Any]:
    filters = replace(filters, clusters=data.selection.clusters)
    named, settings = data.configuration, filters.intervals
    bins, votes = data.separability.bins, units(data.people.rated.outcomes)
    return {
        "dataset": named.dataset,
        "system_a": named.system_a.name,
        "system_b": named.system_b.name,
        "instances": len(data.selection.instance_ids),
        "pairs": len(data.selection.pairs),
        "chosen": data.chosen,
        **({"chosen_note": selection_note(data.chosen)} if data.chosen else {}),
        **separability_findings(data.selection.instance_ids, data.separability),
        "raters": [_people(data, votes, filters, scripted)]
        + [
            {
                **rater_findings(judge.rater, bins, settings),
                **weighted_findings(judge.rater, settings),
                **_why_no_bins(data),
                **judge.status,
                **_measures(data, judge.rater, votes, settings),
            }
            for judge in data.judges
        ],
    }


def _people(data: ConfigurationData, votes: Units, filters: Filters, scripted: frozenset[str]) -> dict[str, Any]:
    people, settings = data.people, filters.intervals
    programs = len(scripted & set(people.rated.raters))
    notes = [SCRIPTED] * bool(programs) + few_raters_note(people)
    return {
        **rater_findings(people, data.separability.bins, settings),
        **weighted_findings(people, settings),
        **_why_no_bins(data),
        "scripted": programs > 0,
        "scripted_raters": programs,
        **({"note": "; ".join(notes)} if notes else {}),
        **_measures(data, people, votes, settings),
    }


def _measures(data: ConfigurationData, rater: Rater, votes: Units, settings: IntervalSettings) -> dict[str, Any]:
    inputs = MeasureInput(rater, data.people, votes, settings)
    return {
        **compute_measures(inputs),
        **confusion_findings(inputs),
        **consistency_of_instances(rater, data.selection.instance_ids),
    }


def _why_no_bins(data: ConfigurationData) -> dict[str, str]:
    why = data.separability.why
    return {} if why is None else replace(why, template=f"no bins: {why.template}").as_json()

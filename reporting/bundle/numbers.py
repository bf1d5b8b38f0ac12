"""The numbers of a bundle: the findings on every question and of second votes, and those of further pages."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from annotation.models import Study
from annotation.questions.questions import MAIN, Question
from reporting.accuracy.accuracies import accuracies, judges_beside_gold
from reporting.bundle.layout import EVERYTHING, Contents
from reporting.disagreements.pair_table import disagreements
from reporting.findings.computing import compute_findings, compute_rankings
from reporting.findings.data.inputs import Filters, StudyData
from reporting.findings.data.reading import read_study
from reporting.leaderboard.leaderboard import ranks, sliced
from reporting.logic.audits import all_asked, whole_audit
from reporting.separability.arrays import ConfigurationRatings, SeparabilityFilters
from reporting.separability.distributions import separability_numbers
from reporting.separability.reading import read_separability, selected_configurations
from reporting.table_effect.arrays import TableEffectFilters
from reporting.table_effect.effects import effect_of
from reporting.table_effect.reading import second_votes

REVISED = "revised"
OTHERS = "others"
Numbers = dict[str, Any]


def without_withdrawn(data: StudyData) -> StudyData:
    """Return data as if raters who have withdrawn had never been there: of them not even numbers leave."""
    configurations = []
    for configuration in data.configurations:
        people = configuration.people
        people = replace(people, exclusions={**people.exclusions, "withdrawn": 0})
        configurations.append(replace(configuration, people=people))
    return replace(data, configurations=tuple(configurations))


def table_effect(study: Study, contents: Contents) -> Numbers:
    """Compute what comparison tables change, without what rests on rows that stayed at home: reasons, who made which table."""
    votes = second_votes(study)
    votes = replace(votes, excluded={**votes.excluded, "withdrawn": 0})
    effect = effect_of(study.slug, votes, TableEffectFilters(), is_two_stage=study.is_two_stage)
    for name, choice in (
        ("with_reason", "reasons"),
        ("table_verdict", "completions"),
        ("towards_table", "completions"),
    ):
        if not contents.has(choice):
            for row in (*effect["arms"], *effect["differences"]):
                row.pop(name, None)
    return effect


def main_question(study: Study) -> Question | None:
    """Return the default question of pages, or None where the study asks only one."""
    return study.questions[MAIN] if len(study.questions) > 1 else None


def distinguishable(study: Study, data: StudyData) -> Numbers:
    """Compute how distinguishable the systems are, and what that says about the ratings of the findings' data."""
    filters = SeparabilityFilters(question=main_question(study))
    rated = [ConfigurationRatings.of(configuration) for configuration in data.configurations]
    return separability_numbers(
        read_separability(study, filters, selected_configurations(study, filters), rated), filters
    )


def leaderboard(findings: Numbers, data: StudyData, filters: Filters) -> Numbers:
    """Compute the ranks over all data sets and in each alone.

    findings : what was computed from the data, under the filters
    """
    alone = {name: compute_rankings(data.in_dataset(name), filters) for name in sliced(findings)}
    return ranks(findings, alone)


# Numbers of further pages, each as the page shows it when it is opened.
PAGES = ("leaderboard", "disagreements", "accuracy", "table_effect", "distinguishable", "logic")


def filters_of_numbers(question: Question | None = None, *, revised: bool = False) -> Filters:
    """Return the filters of some of the numbers: those of the findings page when it is opened."""
    return Filters(question=question, stage=REVISED) if revised else Filters(question=question)


def all_numbers(study: Study, contents: Contents = EVERYTHING) -> Numbers:
    """Compute the findings on the main question, with those on further ones and of second votes as `others`, and the pages' numbers."""
    main = main_question(study)
    stages = [
        filters_of_numbers(main, revised=revised) for revised in ((False, True) if study.is_two_stage else (False,))
    ]
    data = [without_withdrawn(read_study(study, filters)) for filters in stages]
    first, *others = map(compute_findings, data, stages)
    of_pages: Numbers = {
        "leaderboard": leaderboard(first, data[0], stages[0]),
        "disagreements": disagreements(*data),
        "distinguishable": distinguishable(study, data[0]),
    }
    del data  # before more is read
    for filters in map(filters_of_numbers, study.questions[1:]):
        others.append(compute_findings(without_withdrawn(read_study(study, filters)), filters))
    named = [{"question": question.key} if len(study.questions) > 1 else {} for question in study.questions]
    asked = (all_asked(study, question=number) for number in range(len(named)))
    of_pages |= {
        "accuracy": accuracies(study.slug, *judges_beside_gold(study)),
        "table_effect": table_effect(study, contents),
        "logic": [{**name, **whole_audit(study.slug, raters)} for name, raters in zip(named, asked, strict=True)],
    }
    return {**first, OTHERS: others, **{name: of_pages[name] for name in PAGES}}


def parts_of(numbers: Numbers) -> Iterator[Numbers]:
    """Yield the objects that name the study and the software: the numbers, and each of those in them."""
    yield numbers
    for name in (OTHERS, *PAGES):
        parts = numbers.get(name, [])
        yield from parts if isinstance(parts, list) else [parts]

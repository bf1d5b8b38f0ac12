"""The numbers of a bundle: the findings on every question and of second votes, and those of further pages."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from annotation.questions.questions import MAIN, Question
from reporting.accuracy.accuracies import accuracies
from reporting.bundle.stored import StoredStudy
from reporting.disagreements.all_pairs import disagreements
from reporting.findings.computing import compute_findings, compute_rankings
from reporting.findings.data.inputs import Filters, StudyData
from reporting.leaderboard.leaderboard import ranks, sliced
from reporting.logic.audits import whole_audit
from reporting.separability.arrays import ConfigurationRatings, SeparabilityFilters
from reporting.separability.distributions import separability_numbers
from reporting.table_effect.arrays import TableEffectFilters
from reporting.table_effect.effects import effect_of

REVISED = "revised"
OTHERS = "others"
LEADERBOARD, DISAGREEMENTS, DISTINGUISHABLE = "leaderboard", "disagreements", "distinguishable"
Numbers = dict[str, Any]


def table_effect(source: StoredStudy) -> Numbers:
    """Compute what comparison tables change, without what rests on rows that stayed at home: reasons, who made which table."""
    votes, filters = source.second_votes(), TableEffectFilters()
    effect = effect_of(source.slug, votes, filters, is_two_stage=source.is_two_stage)
    for name, choice in (
        ("with_reason", "reasons"),
        ("table_verdict", "completions"),
        ("towards_table", "completions"),
    ):
        if not source.contents.has(choice):
            for row in (*effect["arms"], *effect["differences"]):
                row.pop(name, None)
    return effect


def accuracy(source: StoredStudy) -> Numbers:
    """Compute how often judges are right."""
    return accuracies(source.slug, *source.judges_beside_gold())


def main_question(source: StoredStudy) -> Question | None:
    """Return the default question of pages, or None where the study asks only one."""
    return source.questions[MAIN] if len(source.questions) > 1 else None


def distinguishable(source: StoredStudy, data: StudyData) -> Numbers:
    """Compute how distinguishable the systems are, and what that says about the ratings of the findings' data."""
    filters = SeparabilityFilters(question=main_question(source))
    rated = [ConfigurationRatings.of(configuration) for configuration in data.configurations]
    return separability_numbers(source.separability(filters, rated), filters)


def logical_consistency(source: StoredStudy) -> list[Numbers]:
    """Return the audit of people and judges on each question, which is named where there are several."""
    named = [{"question": question.key} if len(source.questions) > 1 else {} for question in source.questions]
    return [{**name, **whole_audit(source.slug, source.asked(number))} for number, name in enumerate(named)]


def leaderboard(findings: Numbers, data: StudyData, filters: Filters) -> Numbers:
    """Compute the ranks over all data sets and in each alone.

    findings : what was computed from the data, under the filters
    """
    alone = {name: compute_rankings(data.in_dataset(name), filters) for name in sliced(findings)}
    return ranks(findings, alone)


# Numbers of further pages, each as the page shows it when it is opened.
OF_PAGES: Mapping[str, Callable[[StoredStudy], Numbers | list[Numbers]]] = {
    "accuracy": accuracy,
    "table_effect": table_effect,
    "logic": logical_consistency,
}
PAGES = (LEADERBOARD, DISAGREEMENTS, "accuracy", "table_effect", DISTINGUISHABLE, "logic")


def filters_of_numbers(question: Question | None = None, *, revised: bool = False) -> Filters:
    """Return the filters of some of the numbers: those of the findings page when it is opened."""
    return Filters(question=question, stage=REVISED) if revised else Filters(question=question)


def all_numbers(source: StoredStudy) -> Numbers:
    """Compute the findings on the main question, with those on further ones and of second votes as `others`, and the pages' numbers."""
    main, more_questions = main_question(source), source.questions[1:]
    stages = (False, True) if source.is_two_stage else (False,)
    filters_of_stages = [filters_of_numbers(main, revised=revised) for revised in stages]
    data = [source.data(filters) for filters in filters_of_stages]
    first, *more_findings = map(compute_findings, data, filters_of_stages)
    of_pages: Numbers = {
        LEADERBOARD: leaderboard(first, data[0], filters_of_stages[0]),
        DISAGREEMENTS: disagreements(*data),
        DISTINGUISHABLE: distinguishable(source, data[0]),
    }
    del data  # before more is read
    more_findings += [
        compute_findings(source.data(filters), filters) for filters in map(filters_of_numbers, more_questions)
    ]
    of_pages |= {name: compute(source) for name, compute in OF_PAGES.items()}
    return {**first, OTHERS: more_findings, **{name: of_pages[name] for name in PAGES}}


def parts_of(numbers: Numbers) -> Iterator[Numbers]:
    """Yield the objects that name the study and the software: the numbers, and each of those in them."""
    yield numbers
    for name in (OTHERS, *PAGES):
        parts = numbers.get(name, [])
        yield from parts if isinstance(parts, list) else [parts]

"""The numbers of a bundle: the findings on every question and of second votes, and those of further pages, from arrays."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Protocol

from annotation.questions.questions import MAIN, Question
from judging.outcomes.gold_arrays import GoldPairs, JudgedGold
from reporting.accuracy.accuracies import accuracies
from reporting.bundle.layout import Contents
from reporting.core.wordings import JudgeSettings
from reporting.disagreements.all_pairs import disagreements
from reporting.findings.computing import compute_findings, compute_rankings
from reporting.findings.data.inputs import Filters, StudyData
from reporting.leaderboard.ranks import ranks, sliced
from reporting.logic.audits import Asked, whole_audit
from reporting.separability.arrays import SeparabilityData, SeparabilityFilters
from reporting.separability.distributions import separability_numbers
from reporting.table_effect.arrays import SecondVotes, TableEffectFilters
from reporting.table_effect.effects import effect_of

REVISED = "revised"
OTHERS = "others"
LEADERBOARD, DISAGREEMENTS = "leaderboard", "disagreements"
Numbers = dict[str, Any]


class Source(Protocol):
    """What the numbers of a study are computed from: its database, or the rows of a bundle."""

    @property
    def slug(self) -> str: ...

    @property
    def questions(self) -> Sequence[Question]: ...

    @property
    def is_two_stage(self) -> bool: ...

    @property
    def contents(self) -> Contents:
        """What left, or leaves, the server beside the numbers."""

    def data(self, filters: Filters) -> StudyData:
        """Return what findings are computed from."""

    def judges_beside_gold(self) -> tuple[GoldPairs, Sequence[tuple[JudgeSettings, JudgedGold]]]:
        """Return the pairs with gold, and what each judge said of them."""

    def second_votes(self) -> SecondVotes:
        """Return people's second votes with their first votes."""

    def separability(self, filters: SeparabilityFilters) -> SeparabilityData:
        """Return what the page on separability is computed from."""

    def asked(self, question: int) -> Iterator[Asked]:
        """Yield people and all judges, one after the other, with all that they answered to a question."""


def table_effect(source: Source) -> Numbers:
    """Compute what comparison tables change, without what rests on rows that stayed at home: reasons, who made which table."""
    votes, filters = source.second_votes(), TableEffectFilters()
    found = effect_of(source.slug, votes, filters, is_two_stage=source.is_two_stage)
    for name, choice in (
        ("with_reason", "reasons"),
        ("table_verdict", "completions"),
        ("towards_table", "completions"),
    ):
        if not source.contents.has(choice):
            for one in (*found["arms"], *found["differences"]):
                one.pop(name, None)
    return found


def accuracy(source: Source) -> Numbers:
    """Compute how often judges are right."""
    return accuracies(source.slug, *source.judges_beside_gold())


def main_question(source: Source) -> Question | None:
    """Return the question that pages are about when they are opened; None where there is one, which has no name."""
    return source.questions[MAIN] if len(source.questions) > 1 else None


def distinguishable(source: Source) -> Numbers:
    """Compute how distinguishable the systems are."""
    filters = SeparabilityFilters(question=main_question(source))
    return separability_numbers(source.separability(filters), filters)


def logical_consistency(source: Source) -> list[Numbers]:
    """Return the audit of people and judges on each question, which is named where there are several."""
    named = [{"question": one.key} if len(source.questions) > 1 else {} for one in source.questions]
    return [{**name, **whole_audit(source.slug, source.asked(number))} for number, name in enumerate(named)]


def leaderboard(findings: Numbers, data: StudyData, filters: Filters) -> Numbers:
    """Compute the ranks over all data sets and in each alone; of the findings on each these are all that is computed.

    findings : what was computed from the data, under the filters
    """
    alone = {name: compute_rankings(data.in_dataset(name), filters) for name in sliced(findings)}
    return ranks(findings, alone)


# Numbers of further pages, each as the page shows it when it is opened; of format 2 on.
OF_PAGES: Mapping[str, Callable[[Source], Numbers | list[Numbers]]] = {
    "accuracy": accuracy,
    "table_effect": table_effect,
    "distinguishable": distinguishable,
    "logic": logical_consistency,
}
PAGES = (LEADERBOARD, DISAGREEMENTS, *OF_PAGES)  # the former from the data of the findings, which are read once


def filters_of_numbers(question: Question | None = None, *, revised: bool = False) -> Filters:
    """Return the filters of some of the numbers: those of the findings page when it is opened."""
    return Filters(question=question, stage=REVISED) if revised else Filters(question=question)


def all_numbers(source: Source, *, pages: bool = True) -> Numbers:
    """Compute the findings on the main question, with those on further ones and of second votes as `others`.

    pages : whether to compute those of further pages too
    """
    main, further = main_question(source), source.questions[1:]
    stages = (False, True) if source.is_two_stage else (False,)
    wanted = [filters_of_numbers(main, revised=revised) for revised in stages]
    data = [source.data(filters) for filters in wanted]
    first, *others = map(compute_findings, data, wanted)
    of_pages: Numbers = {}
    if pages:
        of_pages = {LEADERBOARD: leaderboard(first, data[0], wanted[0]), DISAGREEMENTS: disagreements(*data)}
    del data  # before more is read
    others += [compute_findings(source.data(filters), filters) for filters in map(filters_of_numbers, further)]
    if pages:
        of_pages |= {name: compute(source) for name, compute in OF_PAGES.items()}
    return {**first, OTHERS: others, **of_pages}


def parts_of(numbers: Numbers) -> Iterator[Numbers]:
    """Yield the objects that name the study and the software: the numbers, and each of those in them."""
    yield numbers
    for name in (OTHERS, *PAGES):
        found = numbers.get(name, [])
        yield from found if isinstance(found, list) else [found]

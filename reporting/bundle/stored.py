"""A study in the database, as the numbers of its bundle are computed from it."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from annotation.models import Study
from annotation.questions.questions import Question
from judging.outcomes.gold import GoldPairs, JudgedGold
from reporting.accuracy.accuracies import judges_beside_gold
from reporting.bundle.layout import EVERYTHING, Contents
from reporting.core.wordings import JudgeSettings
from reporting.findings.data.inputs import Filters, StudyData
from reporting.findings.data.reading import read_study
from reporting.logic.audits import Asked, all_asked
from reporting.separability.arrays import ConfigurationRatings, SeparabilityData, SeparabilityFilters
from reporting.separability.reading import read_separability, selected_configurations
from reporting.table_effect.arrays import SecondVotes
from reporting.table_effect.reading import second_votes


class StoredStudy:
    """A study as if raters who have withdrawn had never been there: of them nothing leaves, not even numbers."""

    def __init__(self, study: Study, contents: Contents = EVERYTHING) -> None:
        self.study = study
        self.contents = contents

    @property
    def slug(self) -> str:
        """Its name in addresses."""
        return self.study.slug

    @property
    def questions(self) -> Sequence[Question]:
        """The questions for raters."""
        return self.study.questions

    @property
    def is_two_stage(self) -> bool:
        """True where raters vote twice."""
        return self.study.is_two_stage

    def data(self, filters: Filters) -> StudyData:
        """Return what findings are computed from."""
        data = read_study(self.study, filters)
        return replace(
            data,
            configurations=tuple(
                replace(
                    configuration,
                    people=replace(
                        configuration.people, exclusions={**configuration.people.exclusions, "withdrawn": 0}
                    ),
                )
                for configuration in data.configurations
            ),
        )

    def judges_beside_gold(self) -> tuple[GoldPairs, Sequence[tuple[JudgeSettings, JudgedGold]]]:
        """Return the pairs with gold, and what each judge said of them."""
        return judges_beside_gold(self.study)

    def second_votes(self) -> SecondVotes:
        """Return people's second votes with their first votes."""
        votes = second_votes(self.study)
        return replace(votes, excluded={**votes.excluded, "withdrawn": 0})

    def separability(self, filters: SeparabilityFilters, rated: Sequence[ConfigurationRatings]) -> SeparabilityData:
        """Return what the page on separability is computed from."""
        return read_separability(self.study, filters, selected_configurations(self.study, filters), rated)

    def asked(self, question: int) -> Iterator[Asked]:
        """Yield people and all judges, one after the other, with all that they answered to a question."""
        return all_asked(self.study, question=question)

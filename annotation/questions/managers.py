"""The manager of models with a `question`: no rows are read before it is said of which question."""

from collections.abc import Iterable
from typing import Any, NoReturn, TypeVar

from django.db.models import Model, QuerySet
from django.db.models.manager import BaseManager

AnyModel = TypeVar("AnyModel", bound=Model)


class AnswerManager(BaseManager[AnyModel]):
    """Has none of a queryset's methods that read, so that the answers to two questions cannot be mixed by oversight.

    The models' foreign keys have no reverse name where a join would get round it.
    """

    _queryset_class = QuerySet

    def __init__(self, study: str = "") -> None:
        """Make a manager.

        study : the path from a row to its study
        """
        super().__init__()
        self.study = study

    def of_question(self, question: int) -> QuerySet[AnyModel]:
        """Return the answers to one question; 0 is the main one."""
        return self.get_queryset().filter(question=question)

    def of_every_question(self) -> QuerySet[AnyModel]:
        """Return the answers to all questions, for readers that tell them apart, or count them as work done."""
        return self.get_queryset()

    def none(self) -> QuerySet[AnyModel]:
        """Return no row: filters read from it what the model is like."""
        return self.get_queryset().none()

    def using(self, alias: str | None) -> QuerySet[AnyModel]:
        """Return the answers to all questions, for Django's form fields of foreign keys."""
        return self.get_queryset().using(alias)

    def all(self) -> NoReturn:
        """Refuse.

        Raises: TypeError.
        """
        raise TypeError("Say of which question: of_question(number) or of_every_question().")

    def create(self, **values: Any) -> AnyModel:
        """Store one row."""
        return self.get_queryset().create(**values)

    def bulk_create(self, rows: Iterable[AnyModel], batch_size: int | None = None) -> list[AnyModel]:
        """Store rows."""
        return self.get_queryset().bulk_create(rows, batch_size=batch_size)

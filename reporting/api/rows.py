"""The common part of lists in the API: permissions, filters, parameters and schema."""

from collections.abc import Collection
from typing import Any

from django.db.models import QuerySet
from django_filters import rest_framework as filters
from drf_spectacular.utils import OpenApiParameter, extend_schema, extend_schema_view
from rest_framework.request import Request
from rest_framework.viewsets import ReadOnlyModelViewSet

from annotation.api.answers import answers, refusals
from annotation.api.pages import PAGED, refuse_unknown
from annotation.members.permissions import READERS
from annotation.models import Study
from annotation.models.members import Scope
from annotation.studies.questions import find_question
from judging.models import Judge
from reporting.api.access import InScope, IsReader, answers_to, in_study, visible_to
from reporting.api.sent_once import HEADER, done_once


class StudyFilter(filters.FilterSet):  # type: ignore[misc]  # without types
    """By the slug of the study."""

    study = filters.CharFilter(method="of_study", label="Slug of the study")

    def of_study(self, queryset: QuerySet[Any], name: str, value: str) -> QuerySet[Any]:
        """Keep the rows of this study, or none when there is no such study for the user."""
        return in_study(self.request.user, queryset, value)


class QuestionFilter(StudyFilter):
    """By study and question, of rows with a `question`."""

    question = filters.CharFilter(method="of_question", label="Key of the question")

    def of_question(self, queryset: QuerySet[Any], name: str, value: str) -> QuerySet[Any]:
        """Keep the answers to the questions of this key. In the study that is named, or in all.

        Raises: UnknownName if that study asks no such question.
        """
        studies = Study.objects.visible_to(self.request.user, *READERS)
        if slug := self.data.get("study"):
            studies = studies.filter(slug=slug)
            for study in studies:
                find_question(study, value)
        return answers_to(queryset, studies, value)


# Of parameters that are not fields of the rows themselves.
LABELS = {
    "annotator": "Code of the annotator",
    "batch": "Name of the batch",
    "instance_id": "The id in the file",
    "judge": "Name of the judge",
    "pair": "Key of the pair",
    "rater": "Code of the annotator",
}


def by(*fields: str, base: type[StudyFilter] = StudyFilter, **lookups: str) -> type[StudyFilter]:
    """Return a filter by study and by equal texts: of fields of the rows, and of others by their lookups."""
    same = {name: filters.CharFilter(field_name=name) for name in fields}
    others = {name: filters.CharFilter(field_name=path, label=LABELS[name]) for name, path in lookups.items()}
    return type("Filter", (base,), {"__doc__": by.__doc__, **same, **others})


HIT = "display__assignment__hit__batch__name"
RATER = "display__assignment__annotator__code"
RatingFilter = by("stage", base=QuestionFilter, batch=HIT, rater=RATER)


class AlignmentFilter(by(instance_id="matchup__instance__instance_id")):  # type: ignore[misc]
    """By study, run and instance."""

    run = filters.NumberFilter(field_name="run_id", label="Id of the run", min_value=0, max_value=2**63 - 1)


class JudgmentFilter(by("status", "order", base=QuestionFilter, judge="run__judge__name", pair="pair__key")):  # type: ignore[misc]
    """A filter by study, judge, run, outcome and presentation."""

    run = filters.NumberFilter(field_name="run_id", label="Id of the run", min_value=0, max_value=2**63 - 1)
    verdict = filters.ChoiceFilter(field_name="verdict", choices=[(item, item) for item in (-1, 0, 1)])
    repeat = filters.NumberFilter(field_name="repeat", min_value=0, max_value=2**31 - 1)
    negated = filters.BooleanFilter(field_name="negated")


class JudgeFilter(filters.FilterSet):  # type: ignore[misc]  # without types
    """By method and family."""

    class Meta:
        model = Judge
        fields = ["method", "family"]


KEY = r"[A-Za-z0-9_-]+"
MODEL = r"[\w.:/@-]+"  # a name of JUDGE_NAME


class Rows(ReadOnlyModelViewSet[Any]):
    """Rows as JSON. Unknown parameters are refused."""

    permission_classes: list[Any] = [IsReader, InScope]
    filterset_class: Any = None
    # Of an action: its parameters, and the scopes that a token needs for it.
    parameters: Collection[OpenApiParameter] = ()
    read_scope: str = Scope.READ
    write_scope: str = Scope.CONFIGURE
    keeps_answer = True  # for a request that is sent again
    paged = False  # as lists are
    post: Any

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if serializer := cls.serializer_class:
            of_list = extend_schema(responses={200: serializer(many=True), **refusals()})
            extend_schema_view(list=of_list, retrieve=answers(serializer))(cls)

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """Refuse unknown parameters of those who may ask, and do what they send again once."""
        super().initial(request, *args, **kwargs)
        if request.method == "POST" and (key := request.headers.get(HEADER)) is not None:
            self.post = done_once(request, key, self.post, keeps_answer=self.keeps_answer)
        listed = self.action == "list" and self.filterset_class is not None
        names = [*self.filterset_class.base_filters] if listed else [parameter.name for parameter in self.parameters]
        refuse_unknown(request, [*names, *(PAGED if self.action == "list" or self.paged else ())])


class StudyRows(Rows):
    """Rows of the studies that the user may read."""

    filterset_class: Any = StudyFilter

    def get_queryset(self) -> QuerySet[Any]:
        """Return the rows that this user may see, in a fixed order for pagination."""
        return visible_to(self.request.user, super().get_queryset()).order_by("pk")


def study_rows(
    about: str,
    serializer: Any,
    queryset: QuerySet[Any],
    *,
    filters: type[StudyFilter] = StudyFilter,
    by_key: bool = False,
) -> type[StudyRows]:
    """Return the viewset of rows that can only be read. `by_key`: an address names a row by its key, not its id."""
    found = {"lookup_field": "key", "lookup_value_regex": KEY} if by_key else {}
    more = {"queryset": queryset, "serializer_class": serializer, "filterset_class": filters}
    return type("StudyRowsViewSet", (StudyRows,), {"__doc__": about, **more, **found})

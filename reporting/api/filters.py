"""Filters of the API's lists."""

from typing import Any

from django.db.models import QuerySet
from django_filters import rest_framework as filters

from annotation.members.permissions import READERS
from annotation.models import Study
from annotation.studies.questions import find_question
from judging.models import Judge
from reporting.api.access import answers_to, in_study


class StudyFilter(filters.FilterSet):  # type: ignore[misc]  # without types
    """By the slug of the study."""

    study = filters.CharFilter(method="of_study", label="Slug of the study")

    def of_study(self, queryset: QuerySet[Any], name: str, value: str) -> QuerySet[Any]:
        """Keep the rows of this study, or none when there is no such study for the user."""
        return in_study(self.request.user, queryset, value)


class InstanceFilter(StudyFilter):
    """By study, data set and the id in the file."""

    dataset = filters.CharFilter(field_name="dataset")
    instance_id = filters.CharFilter(field_name="instance_id")


class SeparabilityRunFilter(StudyFilter):
    """By study, data set, similarity and model."""

    dataset = filters.CharFilter(field_name="dataset")
    similarity = filters.CharFilter(field_name="similarity")
    model = filters.CharFilter(field_name="model")


class AlignmentFilter(StudyFilter):
    """By study, run and instance."""

    run = filters.NumberFilter(field_name="run_id", label="Id of the run", min_value=0, max_value=2**63 - 1)
    instance_id = filters.CharFilter(field_name="matchup__instance__instance_id", label="The id in the file")


class BatchFilter(StudyFilter):
    """By study, name and purpose."""

    name = filters.CharFilter(field_name="name")
    purpose = filters.CharFilter(field_name="purpose")


class HitFilter(StudyFilter):
    """By study and batch."""

    batch = filters.CharFilter(field_name="batch__name", label="Name of the batch")


class AssignmentFilter(StudyFilter):
    """By study, batch, annotator, state and purpose."""

    batch = filters.CharFilter(field_name="hit__batch__name", label="Name of the batch")
    annotator = filters.CharFilter(field_name="annotator__code", label="Code of the annotator")
    state = filters.CharFilter(field_name="state")
    purpose = filters.CharFilter(field_name="purpose")


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


class RatingFilter(QuestionFilter):
    """By study, question, batch, rater and stage."""

    batch = filters.CharFilter(field_name="display__assignment__hit__batch__name", label="Name of the batch")
    rater = filters.CharFilter(field_name="display__assignment__annotator__code", label="Code of the annotator")
    stage = filters.CharFilter(field_name="stage")


class FlagFilter(StudyFilter):
    """By study, batch, rater and kind."""

    batch = filters.CharFilter(field_name="display__assignment__hit__batch__name", label="Name of the batch")
    rater = filters.CharFilter(field_name="display__assignment__annotator__code", label="Code of the annotator")
    kind = filters.CharFilter(field_name="kind")


class TableFilter(StudyFilter):
    """By study and variant."""

    variant = filters.CharFilter(field_name="variant")


class RunFilter(StudyFilter):
    """By study, judge and status."""

    judge = filters.CharFilter(field_name="judge__name", label="Name of the judge")
    status = filters.CharFilter(field_name="status")


class AuditFilter(StudyFilter):
    """By study and judge."""

    judge = filters.CharFilter(field_name="judge__name", label="Name of the judge")


class JudgmentFilter(QuestionFilter):
    """A filter by study, judge, run, outcome and presentation."""

    judge = filters.CharFilter(field_name="run__judge__name", label="Name of the judge")
    run = filters.NumberFilter(field_name="run_id", label="Id of the run", min_value=0, max_value=2**63 - 1)
    status = filters.CharFilter(field_name="status")
    verdict = filters.ChoiceFilter(field_name="verdict", choices=[(item, item) for item in (-1, 0, 1)])
    order = filters.CharFilter(field_name="order")
    repeat = filters.NumberFilter(field_name="repeat", min_value=0, max_value=2**31 - 1)
    negated = filters.BooleanFilter(field_name="negated")
    pair = filters.CharFilter(field_name="pair__key", label="Key of the pair")


class JudgeFilter(filters.FilterSet):  # type: ignore[misc]  # without types
    """By method and family."""

    class Meta:
        model = Judge
        fields = ["method", "family"]

"""Decisions about raters and their HITs in the API, messages to raters, payments, and a rater's own data."""

from collections.abc import Callable
from typing import Any, TypeVar

from django import forms
from django.utils import timezone
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework import serializers, status
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import GenericViewSet

from annotation.annotators.messages import send_message
from annotation.annotators.payments import payments_of
from annotation.api.bodies import body_of, read_form, require_manager, schema_of, user_of
from annotation.api.study_serializers import refusals
from annotation.models import Annotator, Assignment, Study
from annotation.models.tokens import Scope
from annotation.monitoring.forms import Erase, LeaveOutForm, MessageForm, NothingForm, OptionalReasonForm
from annotation.privacy.erasing import erase_rater
from annotation.privacy.own_data import data_of
from annotation.quality import exclusion

F = TypeVar("F", bound=Callable[..., Response])


class EffectSerializer(serializers.Serializer[Any]):
    """The result of a decision, in numbers and as a message."""

    changed = serializers.BooleanField(help_text="False if the decision was made before.")
    reopened = serializers.IntegerField(help_text="Slots that are open again.")
    ended = serializers.IntegerField(help_text="Claims that were ended.")
    counted = serializers.IntegerField(help_text="HITs that count again.")
    surplus = serializers.IntegerField(help_text="HITs that stay uncounted: others have their places.")
    message = serializers.CharField()


MessageSerializer = schema_of(MessageForm, "Message")
LeaveOutSerializer = schema_of(LeaveOutForm, "LeaveOut")
OptionalReasonSerializer = schema_of(OptionalReasonForm, "OptionalReason")


def _decision(request: Any, description: str) -> Callable[[F], F]:
    """Describe a decision for the schema."""
    described: Callable[[F], F] = extend_schema(
        request=request,
        responses={200: EffectSerializer, **refusals(409, 413, 422)},
        description=description,
    )
    return described


class _Decisions(GenericViewSet[Any]):
    """Decisions of study admins. `kind` is what a service calls the row that it decides about."""

    kind = ""

    def study_of(self, row: Any) -> Study:
        """Return the study of a row."""
        raise NotImplementedError

    def managed(self) -> Any:
        """Return the row to a study admin, else raise 403 for readers and 404 for others."""
        row = self.get_object()
        require_manager(self.request.user, self.study_of(row))
        return row

    def decide(self, request: Request, form: type[forms.Form], decision: Callable[..., exclusion.Effect]) -> Response:
        """Take a decision about the row of the address."""
        row = self.managed()
        effect = decision(
            **{self.kind: row}, **read_form(form, body_of(request)).cleaned_data, by=user_of(request), at=timezone.now()
        )
        return Response(EffectSerializer(effect).data)


class RaterDecisions(_Decisions):
    """Decisions of study admins about a rater."""

    kind = "annotator"

    def study_of(self, row: Annotator) -> Study:
        """Return the rater's study."""
        return row.study

    @_decision(LeaveOutSerializer, "Exclude a rater and all their ratings from results; nothing is deleted.")
    @action(detail=True, methods=["post"])
    def exclude(self, request: Request, pk: str) -> Response:
        """Exclude a rater."""
        return self.decide(request, LeaveOutForm, exclusion.exclude_annotator)

    @_decision(OptionalReasonSerializer, "Take an exclusion back.")
    @action(detail=True, methods=["post"])
    def include(self, request: Request, pk: str) -> Response:
        """Include a rater again."""
        return self.decide(request, OptionalReasonForm, exclusion.include_annotator)

    @_decision(schema_of(NothingForm, "Nothing"), "Let a rater continue whom the checks have blocked.")
    @action(detail=True, methods=["post"])
    def unblock(self, request: Request, pk: str) -> Response:
        """Unblock a rater."""
        return self.decide(request, NothingForm, exclusion.unblock_annotator)

    @extend_schema(request=MessageSerializer, responses={204: None, **refusals(409, 413, 422)})
    @action(detail=True, methods=["post"])
    def message(self, request: Request, pk: str) -> Response:
        """Send a message, which the rater sees on their next page."""
        annotator = self.managed()
        text = read_form(MessageForm, body_of(request)).cleaned_data["text"]
        send_message(annotator=annotator, text=text, by=user_of(request), at=timezone.now())
        return Response(status=status.HTTP_204_NO_CONTENT)

    @extend_schema(request=schema_of(Erase), responses={204: None, **refusals(409, 413, 422)})
    @action(detail=True, methods=["post"])
    def erase(self, request: Request, pk: str) -> Response:
        """Delete what is held about a rater in this study, as their page does."""
        annotator = self.managed()
        cleaned = read_form(Erase, body_of(request)).cleaned_data
        erase_rater(annotator=annotator, by=user_of(request), at=timezone.now(), **cleaned)
        return Response(status=status.HTTP_204_NO_CONTENT)

    @extend_schema(responses={200: OpenApiTypes.OBJECT, **refusals()}, filters=False)
    @action(detail=True, pagination_class=None, read_scope=Scope.PERSONAL)
    def data(self, request: Request, pk: str) -> Response:
        """Return all that is held about a rater in this study, to be handed to them, as `manage.py export_rater` does."""
        return Response(data_of([self.managed()], None))


class AssignmentDecisions(_Decisions):
    """Decisions of study admins about one HIT of a rater."""

    kind = "assignment"

    def study_of(self, row: Assignment) -> Study:
        """Return the HIT's study."""
        return row.hit.batch.study

    @_decision(LeaveOutSerializer, "Exclude one submitted HIT from results.")
    @action(detail=True, methods=["post"])
    def reject(self, request: Request, key: str) -> Response:
        """Reject a submitted HIT."""
        return self.decide(request, LeaveOutForm, exclusion.reject_assignment)

    @_decision(OptionalReasonSerializer, "Take a rejection back.")
    @action(detail=True, methods=["post"])
    def accept(self, request: Request, key: str) -> Response:
        """Accept a rejected HIT."""
        return self.decide(request, OptionalReasonForm, exclusion.accept_assignment)

    @_decision(OptionalReasonSerializer, "End a claim: others may claim the HIT.")
    @action(detail=True, methods=["post"])
    def release(self, request: Request, key: str) -> Response:
        """Release a claim."""
        return self.decide(request, OptionalReasonForm, exclusion.release_claim)


class PaymentSerializer(serializers.Serializer[Any]):
    """The pay due to one rater, in submitted HITs. Amounts are text, null where the study has no pay."""

    code = serializers.CharField()
    name = serializers.CharField(help_text="Of the account, if it has one.")
    channel = serializers.CharField()
    withdrawn = serializers.BooleanField()
    hits = serializers.IntegerField(allow_null=True)
    counted = serializers.IntegerField(allow_null=True)
    late = serializers.IntegerField(allow_null=True)
    rejected = serializers.IntegerField(allow_null=True)
    pay_due = serializers.CharField(allow_null=True)
    pay_rejected = serializers.CharField(allow_null=True)
    currency = serializers.CharField()
    minutes = serializers.FloatField(allow_null=True)


class StudyPayments(GenericViewSet[Any]):
    """The pay due to the raters of a study. Names of accounts are personal data."""

    @extend_schema(responses={200: PaymentSerializer(many=True), **refusals()}, filters=False)
    @action(detail=True, pagination_class=None, filter_backends=[], read_scope=Scope.PERSONAL)
    def payments(self, request: Request, slug: str) -> Response:
        """Return the pay due to each rater, those whom a platform pays included."""
        study: Study = self.get_object()
        require_manager(request.user, study)
        return Response(PaymentSerializer(payments_of(study, platforms=True), many=True).data)

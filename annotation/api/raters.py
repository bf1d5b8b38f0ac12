"""Decisions about raters and their HITs in the API, messages to raters, payments, and a rater's own data."""

from collections.abc import Callable
from operator import attrgetter
from typing import Any

from django import forms
from django.utils import timezone
from rest_framework import serializers, status
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.annotators.messages import send_message
from annotation.annotators.payments import payments_of
from annotation.api.answers import work
from annotation.api.bodies import Managed, ManagedStudies, body_of, read_form, schema_of, user_of
from annotation.models.members import Scope
from annotation.monitoring.forms import Erase, LeaveOutForm, MessageForm, NothingForm, OptionalReasonForm
from annotation.privacy.erasing import erase_rater
from annotation.privacy.own_data import data_of
from annotation.quality import exclusion


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


class _Decisions(Managed):
    """Decisions of study admins. `kind` is what a service calls the row that it decides about."""

    kind = ""

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

    @work(EffectSerializer, body=LeaveOutSerializer, methods=["post"])
    def exclude(self, request: Request, pk: str) -> Response:
        """Exclude a rater and all their ratings from results; nothing is deleted."""
        return self.decide(request, LeaveOutForm, exclusion.exclude_annotator)

    @work(EffectSerializer, body=OptionalReasonSerializer, methods=["post"])
    def include(self, request: Request, pk: str) -> Response:
        """Take an exclusion back."""
        return self.decide(request, OptionalReasonForm, exclusion.include_annotator)

    @work(EffectSerializer, body=schema_of(NothingForm, "Nothing"), methods=["post"])
    def unblock(self, request: Request, pk: str) -> Response:
        """Let a rater continue whom the checks have blocked."""
        return self.decide(request, NothingForm, exclusion.unblock_annotator)

    @work(None, 204, body=MessageSerializer, methods=["post"])
    def message(self, request: Request, pk: str) -> Response:
        """Send a message, which the rater sees on their next page."""
        annotator = self.managed()
        text = read_form(MessageForm, body_of(request)).cleaned_data["text"]
        send_message(annotator=annotator, text=text, by=user_of(request), at=timezone.now())
        return Response(status=status.HTTP_204_NO_CONTENT)

    @work(None, 204, body=schema_of(Erase), methods=["post"])
    def erase(self, request: Request, pk: str) -> Response:
        """Delete what is held about a rater in this study, as their page does."""
        annotator = self.managed()
        cleaned = read_form(Erase, body_of(request)).cleaned_data
        erase_rater(annotator=annotator, by=user_of(request), at=timezone.now(), **cleaned)
        return Response(status=status.HTTP_204_NO_CONTENT)

    @work(read_scope=Scope.PERSONAL)
    def data(self, request: Request, pk: str) -> Response:
        """Return all that is held about a rater in this study, to be handed to them, as `manage.py export_rater` does."""
        return Response(data_of([self.managed()], None))


class AssignmentDecisions(_Decisions):
    """Decisions of study admins about one HIT of a rater."""

    kind = "assignment"
    study_of = staticmethod(attrgetter("hit.batch.study"))

    @work(EffectSerializer, body=LeaveOutSerializer, methods=["post"])
    def reject(self, request: Request, key: str) -> Response:
        """Exclude one submitted HIT from results."""
        return self.decide(request, LeaveOutForm, exclusion.reject_assignment)

    @work(EffectSerializer, body=OptionalReasonSerializer, methods=["post"])
    def accept(self, request: Request, key: str) -> Response:
        """Take a rejection back."""
        return self.decide(request, OptionalReasonForm, exclusion.accept_assignment)

    @work(EffectSerializer, body=OptionalReasonSerializer, methods=["post"])
    def release(self, request: Request, key: str) -> Response:
        """End a claim: others may claim the HIT."""
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


class StudyPayments(ManagedStudies):
    """The pay due to the raters of a study. Names of accounts are personal data."""

    @work(PaymentSerializer(many=True), read_scope=Scope.PERSONAL)
    def payments(self, request: Request, slug: str) -> Response:
        """Return the pay due to each rater, those whom a platform pays included."""
        return Response(PaymentSerializer(payments_of(self.managed(), platforms=True), many=True).data)

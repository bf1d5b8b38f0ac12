"""Channels and invitations in the API: making, changing, opening and shutting channels, and their one-time links."""

from dataclasses import asdict
from typing import Any

from django.db import transaction
from django.urls import reverse
from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import serializers, status
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import GenericViewSet

from annotation.api.bodies import body_of, read, read_form, require_manager, schema_of, texts_of, user_of
from annotation.api.study_serializers import refusals
from annotation.core.errors import BadFields
from annotation.members.permissions import READERS, find_study
from annotation.models import Batch, Channel, Study
from annotation.models.tokens import Scope
from annotation.recruitment.accounts import Invite
from annotation.recruitment.base import adapter_of
from annotation.recruitment.channels import (
    change_channel,
    invitation_channel,
    kinds,
    make_channel,
    options_form_of,
    set_open,
)
from annotation.recruitment.invitations import Link, invite, open_links, reissue


class ChannelSerializer(serializers.ModelSerializer[Channel]):
    """A way into a study, with the settings of its kind and without its adapter's other data."""

    study = serializers.CharField(source="study.slug", read_only=True)
    batch = serializers.CharField(source="batch.name", default=None, allow_null=True, read_only=True)
    kind = serializers.CharField(read_only=True)
    options = serializers.SerializerMethodField()

    class Meta:
        model = Channel
        fields = ["key", "study", "kind", "name", "batch", "is_open", "options", "created_at"]

    def get_options(self, channel: Channel) -> dict[str, Any]:
        """Return the settings that its form has."""
        fields = options_form_of(channel.kind).base_fields
        return {name: channel.options.get(name) for name in fields}


class ChannelChangeSerializer(serializers.Serializer[Any]):
    """Settings of a channel. Omitted ones keep their values."""

    name = serializers.CharField(required=False, max_length=100)
    batch = serializers.CharField(
        required=False, allow_null=True, max_length=200, help_text="Null for all open batches."
    )
    is_open = serializers.BooleanField(required=False, help_text="Whether new raters can join.")
    options: Any = serializers.DictField(required=False, help_text="Settings of its kind, as on the channel's page.")


class NewChannelSerializer(ChannelChangeSerializer):
    """A channel to be created, closed unless `is_open`."""

    study = serializers.CharField(max_length=80)
    kind = serializers.CharField(max_length=12, help_text="accounts, anonymous, prolific or mturk.")
    name = serializers.CharField(max_length=100)


class LinkSerializer(serializers.Serializer[Any]):
    """A one-time link and the code of its rater."""

    rater = serializers.CharField()
    link = serializers.CharField()
    valid_until = serializers.DateTimeField()


InviteSerializer = schema_of(Invite)
StudyInviteSerializer = schema_of(
    Invite,
    "StudyInvite",
    "How many raters are invited to a study or to one of its batches.",
    batch=serializers.CharField(required=False, max_length=200),
)


class ReissueSerializer(serializers.Serializer[Any]):
    """A rater of the channel who has lost access."""

    rater = serializers.CharField(max_length=100, help_text="Their code.")


class PlatformActionSerializer(serializers.Serializer[Any]):
    """An action of the channel's page, with the fields of its form."""

    action = serializers.CharField(max_length=40, help_text="As sync, approve, reject, bonus; of Prolific draft, ...")
    values: Any = serializers.DictField(child=serializers.CharField(allow_blank=True), required=False, default=dict)


class DoneSerializer(serializers.Serializer[Any]):
    """A message about the action."""

    message = serializers.CharField()


class ChannelSetup(GenericViewSet[Any]):
    """Channels: readers see them, study admins set them up."""

    def _managed(self) -> Channel:
        channel: Channel = self.get_object()
        require_manager(self.request.user, channel.study)
        return channel

    def _description(self, channel: Channel) -> dict[str, Any]:
        return ChannelSerializer(Channel.objects.select_related("study", "batch").get(pk=channel.pk)).data

    @extend_schema(request=NewChannelSerializer, responses={201: ChannelSerializer, **refusals(409, 413, 422)})
    def create(self, request: Request) -> Response:
        """Create a channel into a study, or into one of its batches."""
        data = read(NewChannelSerializer, request)
        study = find_study(request.user, data["study"], *READERS)
        require_manager(request.user, study)
        if data["kind"] not in [kind.value for kind in kinds()]:
            raise BadFields({"kind": [f"This must be one of {', '.join(kind.value for kind in kinds())}."]})
        channel = make_channel(
            study=study,
            kind=data["kind"],
            name=data["name"],
            options=_options(data["kind"], {}, data),
            batch=_batch(study, data.get("batch")),
            is_open=data.get("is_open", False),
        )
        where = {"Location": reverse("api:channel-detail", args=[channel.key])}
        return Response(self._description(channel), status=status.HTTP_201_CREATED, headers=where)

    @extend_schema(request=ChannelChangeSerializer, responses={200: ChannelSerializer, **refusals(409, 413, 422)})
    @transaction.atomic
    def partial_update(self, request: Request, key: str) -> Response:
        """Change a channel's settings, open it or close it."""
        channel = self._managed()
        data = read(ChannelChangeSerializer, request)
        if data.keys() - {"is_open"}:
            change_channel(
                channel=channel,
                name=data.get("name", channel.name),
                options=_options(channel.kind, channel.options, data),
                batch=_batch(channel.study, data["batch"]) if "batch" in data else channel.batch,
            )
        if "is_open" in data:
            set_open(channel=channel, is_open=data["is_open"])
        return Response(self._description(channel))

    @extend_schema(responses={200: LinkSerializer(many=True), **refusals()}, filters=False)
    @action(detail=True, pagination_class=None, filter_backends=[], read_scope=Scope.MANAGE, keeps_answer=False)
    def links(self, request: Request, key: str) -> Response:
        """List the links that can still be used."""
        return _links(open_links(channel=self._managed(), base_url=_base(request), at=timezone.now()))

    @extend_schema(request=InviteSerializer, responses={201: LinkSerializer(many=True), **refusals(409, 413, 422)})
    @links.mapping.post
    def invite(self, request: Request, key: str) -> Response:
        """Create nameless raters of an accounts channel, and a one-time link for each."""
        return _invited(self._managed(), body_of(request), request)

    @extend_schema(request=PlatformActionSerializer, responses={200: DoneSerializer, **refusals(409, 413, 422)})
    @action(detail=True, methods=["post"], pagination_class=None)
    def act(self, request: Request, key: str) -> Response:
        """Run an action of the channel's page at its platform. An action that its kind doesn't have is 422."""
        channel, body = self._managed(), read(PlatformActionSerializer, request)
        done = adapter_of(channel).act(
            channel=channel,
            action=body["action"],
            data=body["values"],
            by=user_of(request),
            at=timezone.now(),
        )
        return Response({"message": done})

    @extend_schema(request=ReissueSerializer, responses={201: LinkSerializer, **refusals(409, 413, 422)})
    @action(detail=True, methods=["post"], keeps_answer=False)
    def reissue(self, request: Request, key: str) -> Response:
        """Create a link, valid for one day, for a rater who has lost access."""
        channel, code = self._managed(), read(ReissueSerializer, request)["rater"]
        link = reissue(channel=channel, code=code, base_url=_base(request), at=timezone.now(), by=user_of(request))
        return Response(asdict(link), status=status.HTTP_201_CREATED)


class StudyInvitations(GenericViewSet[Any]):
    """Invite raters without a channel."""

    @extend_schema(request=StudyInviteSerializer, responses={201: LinkSerializer(many=True), **refusals(409, 413, 422)})
    @action(detail=True, methods=["post"], write_scope=Scope.MANAGE, pagination_class=None, keeps_answer=False)
    @transaction.atomic  # a refused request leaves no channel behind
    def invitations(self, request: Request, slug: str) -> Response:
        """Create nameless raters, and a one-time link for each, as `manage.py invite` does."""
        study: Study = self.get_object()
        require_manager(request.user, study)
        body = body_of(request)
        batch = _batch(study, texts_of(body, "batch")["batch"] or None)
        return _invited(invitation_channel(study=study, batch=batch), body, request)


def _invited(channel: Channel, body: dict[str, Any], request: Request) -> Response:
    """Create as many nameless raters of a channel as a request asks for, and a one-time link for each."""
    cleaned = read_form(Invite, body).cleaned_data
    links = invite(
        channel=channel,
        count=cleaned["count"],
        valid_days=cleaned["days"],
        base_url=_base(request),
        at=timezone.now(),
    )
    return _links(links, status.HTTP_201_CREATED)


def _links(links: list[Link], code: int = status.HTTP_200_OK) -> Response:
    return Response(LinkSerializer([asdict(link) for link in links], many=True).data, status=code)


def _base(request: Request) -> str:
    return request.build_absolute_uri("/")


def _batch(study: Study, name: str | None) -> Batch | None:
    if name is None:
        return None
    batch = study.batches.filter(purpose=Batch.Purpose.RATING, name=name, origin=Batch.Origin.COLLECTED).first()
    if batch is None:
        raise BadFields({"batch": [f"The study has no batch {name} for rating."]})
    return batch


def _options(kind: str, options: dict[str, Any], data: dict[str, Any]) -> dict[str, Any]:
    """Return the settings of a kind: those that are stored, under those that are sent.

    Raises: BadFields for one that the kind doesn't have.
    """
    fields, sent = options_form_of(kind).base_fields, data.get("options", {})
    if strange := [name for name in sent if name not in fields]:
        raise BadFields({name: [f"Channels of kind {kind} have no such setting."] for name in strange})
    return {**{name: options[name] for name in fields if name in options}, **sent}

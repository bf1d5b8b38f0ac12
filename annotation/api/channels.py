"""Channels and invitations in the API: making, changing, opening and shutting channels, and their one-time links."""

from dataclasses import asdict
from typing import Any

from django import forms
from django.db import transaction
from django.utils import timezone
from rest_framework import serializers, status
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.api.answers import answers, made, work
from annotation.api.bodies import (
    Managed,
    ManagedStudies,
    body_of,
    needed_text,
    read,
    read_form,
    require_manager,
    schema_of,
    user_of,
)
from annotation.core.errors import BadFields
from annotation.members.permissions import READERS, find_study
from annotation.models import Channel
from annotation.models.members import Scope
from annotation.recruitment.accounts import Invite, ReissueForm, StudyInvite
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
from annotation.recruitment.options import ChannelForm


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


class ObjectField(forms.JSONField):
    """Values by name."""

    json_shape = dict


class ChannelChange(ChannelForm):
    """Settings of a channel. Omitted ones keep their values."""

    is_open = forms.BooleanField(required=False, label="Whether new raters can join")
    options = ObjectField(required=False, label="Settings of its kind, as on the channel's page")


ChannelChangeSerializer = schema_of(ChannelChange, partial=True)
NewChannelSerializer = schema_of(
    ChannelChange,
    "NewChannel",
    "A channel to be created, closed unless `is_open`.",
    study=serializers.CharField(max_length=80),
    kind=serializers.CharField(max_length=12, help_text="accounts, anonymous, prolific or mturk."),
)


class LinkSerializer(serializers.Serializer[Any]):
    """A one-time link and the code of its rater."""

    rater = serializers.CharField()
    link = serializers.CharField()
    valid_until = serializers.DateTimeField()


class PlatformActionSerializer(serializers.Serializer[Any]):
    """An action of the channel's page, with the fields of its form."""

    action = serializers.CharField(max_length=40, help_text="As sync, approve, reject, bonus; of Prolific draft, ...")
    values: Any = serializers.DictField(child=serializers.CharField(allow_blank=True), required=False, default=dict)


class DoneSerializer(serializers.Serializer[Any]):
    """A message about the action."""

    message = serializers.CharField()


class ChannelSetup(Managed):
    """Channels: readers see them, study admins set them up."""

    def _description(self, channel: Channel) -> dict[str, Any]:
        return ChannelSerializer(Channel.objects.select_related("study", "batch").get(pk=channel.pk)).data

    @answers(ChannelSerializer, 201, body=NewChannelSerializer)
    def create(self, request: Request) -> Response:
        """Create a channel into a study, or into one of its batches."""
        body = body_of(request)
        study = find_study(request.user, needed_text(body, "study"), *READERS)
        require_manager(request.user, study)
        kind = needed_text(body, "kind")
        if kind not in [offered.value for offered in kinds()]:
            raise BadFields({"kind": [f"This must be one of {', '.join(offered.value for offered in kinds())}."]})
        cleaned = read_form(ChannelChange, body, study=study).cleaned_data
        channel = make_channel(study=study, kind=kind, **{**cleaned, "options": _options(kind, {}, cleaned)})
        return made(self._description(channel), "channel-detail", channel.key)

    @answers(ChannelSerializer, body=ChannelChangeSerializer)
    @transaction.atomic
    def partial_update(self, request: Request, key: str) -> Response:
        """Change a channel's settings, open it or close it."""
        channel = self.managed()
        body = body_of(request)
        present = {"name": channel.name, "batch": channel.batch and channel.batch.name, "is_open": channel.is_open}
        cleaned = read_form(ChannelChange, body, study=channel.study, initial=present).cleaned_data
        is_open = cleaned.pop("is_open")
        if body.keys() - {"is_open"}:
            change_channel(channel=channel, **{**cleaned, "options": _options(channel.kind, channel.options, cleaned)})
        if "is_open" in body:
            set_open(channel=channel, is_open=is_open)
        return Response(self._description(channel))

    @work(LinkSerializer(many=True), read_scope=Scope.MANAGE, keeps_answer=False)
    def links(self, request: Request, key: str) -> Response:
        """List the links that can still be used."""
        return _links(open_links(channel=self.managed(), base_url=_base(request), at=timezone.now()))

    @answers(LinkSerializer(many=True), 201, body=schema_of(Invite))
    @links.mapping.post
    def invite(self, request: Request, key: str) -> Response:
        """Create nameless raters of an accounts channel, and a one-time link for each."""
        return _invited(self.managed(), read_form(Invite, body_of(request)), request)

    @work(DoneSerializer, body=PlatformActionSerializer, methods=["post"])
    def act(self, request: Request, key: str) -> Response:
        """Run an action of the channel's page at its platform. An action that its kind doesn't have is 422."""
        channel, body = self.managed(), read(PlatformActionSerializer, request)
        how = {"action": body["action"], "data": body["values"], "by": user_of(request), "at": timezone.now()}
        return Response({"message": adapter_of(channel).act(channel=channel, **how)})

    @work(LinkSerializer, 201, body=schema_of(ReissueForm, "Reissue"), methods=["post"], keeps_answer=False)
    def reissue(self, request: Request, key: str) -> Response:
        """Create a link, valid for one day, for a rater who has lost access."""
        channel, code = self.managed(), read_form(ReissueForm, body_of(request)).cleaned_data["rater"]
        link = reissue(channel=channel, code=code, base_url=_base(request), at=timezone.now(), by=user_of(request))
        return Response(asdict(link), status=status.HTTP_201_CREATED)


class StudyInvitations(ManagedStudies):
    """Invite raters without a channel."""

    @work(
        LinkSerializer(many=True),
        201,
        body=schema_of(StudyInvite),
        methods=["post"],
        write_scope=Scope.MANAGE,
        keeps_answer=False,
    )
    @transaction.atomic  # a refused request leaves no channel behind
    def invitations(self, request: Request, slug: str) -> Response:
        """Create nameless raters, and a one-time link for each, as `manage.py invite` does."""
        study = self.managed()
        form = read_form(StudyInvite, body_of(request), study=study)
        return _invited(invitation_channel(study=study, batch=form.cleaned_data["batch"]), form, request)


def _invited(channel: Channel, form: Invite, request: Request) -> Response:
    """Create as many nameless raters of a channel as a request asks for, and a one-time link for each."""
    how = {"count": form.cleaned_data["count"], "valid_days": form.cleaned_data["days"]}
    return _links(invite(channel=channel, base_url=_base(request), at=timezone.now(), **how), status.HTTP_201_CREATED)


def _links(links: list[Link], code: int = status.HTTP_200_OK) -> Response:
    return Response(LinkSerializer([asdict(link) for link in links], many=True).data, status=code)


def _base(request: Request) -> str:
    return request.build_absolute_uri("/")


def _options(kind: str, options: dict[str, Any], data: dict[str, Any]) -> dict[str, Any]:
    """Return the settings of a kind: those that are stored, under those that are sent.

    Raises: BadFields for one that the kind doesn't have.
    """
    fields, sent = options_form_of(kind).base_fields, data["options"] or {}
    if strange := [name for name in sent if name not in fields]:
        raise BadFields({name: [f"Channels of kind {kind} have no such setting."] for name in strange})
    return {**{name: options[name] for name in fields if name in options}, **sent}

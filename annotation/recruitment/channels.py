"""Create channels with their first links, change their settings, open and close them."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.core.serializers.json import DjangoJSONEncoder
from django.db import transaction
from django.db.models import Q
from django.urls import reverse

from annotation.annotators.participants import locked_channel
from annotation.core.errors import BadFields, ClaimRefused, UnknownName
from annotation.models import Batch, Channel, Study
from annotation.models.recruitment import channel_kinds
from annotation.recruitment.accounts import MOST_AT_ONCE
from annotation.recruitment.base import adapters
from annotation.recruitment.invitations import invite, refuse_archived
from annotation.recruitment.options import ChannelOptionsForm

INVITATIONS = "Invitations"


@dataclass(frozen=True)
class OfferedKind:
    """A kind of channel that a study can have."""

    value: str
    label: str
    summary: str


def kinds() -> list[OfferedKind]:
    """Return the kinds that have an adapter, in the order in which they are offered."""
    registered = adapters()
    return [OfferedKind(kind, label, registered[kind].summary) for kind, label in channel_kinds() if kind in registered]


def options_form_of(kind: str) -> type[forms.Form]:
    """Return the form of a kind's settings: its adapter's, with the fields of all channels.

    Raises: UnknownName for a kind without an adapter.
    """
    if kind not in adapters():
        raise UnknownName(f"There are no channels of kind {kind}.")
    own = adapters()[kind].options_form
    if issubclass(own, ChannelOptionsForm):
        return own
    return type(own.__name__, (own, ChannelOptionsForm), {"__doc__": own.__doc__, "__module__": own.__module__})


@transaction.atomic
def make_channel(
    *, study: Study, kind: str, name: str, options: Mapping[str, Any], batch: Batch | None = None, is_open: bool = False
) -> Channel:
    """Create a channel into a study or one of its batches, closed unless `is_open`.

    options : data for the form of the kind's settings

    Raises: UnknownName for a kind without an adapter; BadFields for invalid settings; ClaimRefused when the study is
    archived.
    """
    refuse_archived(study)
    _lock_names(study)
    channel = Channel(
        study=study, batch=batch, kind=kind, name=name.strip(), is_open=is_open, options=_clean(kind, options)
    )
    _check(channel)
    channel.save()
    return channel


@transaction.atomic
def change_channel(*, channel: Channel, name: str, options: Mapping[str, Any], batch: Batch | None = None) -> Channel:
    """Change a channel's settings. Other data that the adapter keeps in the options stay.

    Raises: BadFields for invalid settings.
    """
    channel = locked_channel(channel)
    _lock_names(channel.study)
    channel.name, channel.batch = name.strip(), batch
    channel.options = {**channel.options, **_clean(channel.kind, options)}
    _check(channel)
    channel.save(update_fields=["name", "batch", "options"])
    return channel


@transaction.atomic
def set_open(*, channel: Channel, is_open: bool) -> Channel:
    """Open or close a channel for newcomers. Raters who have joined continue either way.

    Raises: ClaimRefused when the study is archived.
    """
    channel = locked_channel(channel)
    if is_open:
        refuse_archived(channel.study)
    channel.is_open = is_open
    channel.save(update_fields=["is_open"])
    return channel


@transaction.atomic
def invitation_channel(*, study: Study, batch: Batch | None = None) -> Channel:
    """Return, or create, the open channel for a study's invitations or for those into one batch.

    Raises: ClaimRefused when the study is archived, or the only such channel is closed.
    """
    study = Study.objects.select_for_update(of=("self",)).get(pk=study.pk)  # or two requests make two
    refuse_archived(study)
    existing = list(study.channels.filter(kind=Channel.Kind.ACCOUNTS, batch=batch).select_related("study"))
    if (usable := next((channel for channel in existing if channel.is_open), None)) is not None:
        return usable
    if existing:
        raise ClaimRefused(f"Channel {existing[0].name} is closed, so its links would not work. Open it first.")
    name = INVITATIONS if batch is None else f"{INVITATIONS}: {batch.name}"[:90]
    taken = set(study.channels.values_list("name", flat=True))
    candidates = (name, *(f"{name} {number}" for number in range(2, len(taken) + 3)))
    free = next(candidate for candidate in candidates if candidate not in taken)
    return make_channel(study=study, kind=Channel.Kind.ACCOUNTS, name=free, options={}, batch=batch, is_open=True)


def channel_of_rater(*, study: Study, code: str) -> Channel:
    """Return the channel that a rater of a study came or was invited through.

    Raises: UnknownName when there is none.
    """
    of_rater = Q(participants__annotator__code=code) | Q(invitations__annotator__code=code)
    channel = study.channels.filter(of_rater).select_related("study").first()
    if channel is None:
        raise UnknownName(f"No rater {code} has come through a channel of this study.")
    return channel


def _clean(kind: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings as the kind's form cleans them, in JSON values."""
    form = options_form_of(kind)(options)
    if not form.is_valid():
        raise BadFields({field: [str(text) for text in texts] for field, texts in form.errors.items()})
    cleaned: dict[str, Any] = json.loads(json.dumps(form.cleaned_data, cls=DjangoJSONEncoder))
    return cleaned


def _lock_names(study: Study) -> None:
    """Let no other request give a channel of the study a name meanwhile. Votes are not kept waiting."""
    list(Study.objects.select_for_update(no_key=True).filter(pk=study.pk).values_list("pk"))


def _check(channel: Channel) -> None:
    if channel.batch is not None and channel.batch.study_id != channel.study_id:
        raise BadFields({"batch": ["That batch belongs to another study."]})
    try:
        channel.full_clean()
    except ValidationError as error:
        # The only rule about several fields is that names are unique.
        problems = {"name" if field == "__all__" else field: texts for field, texts in error.message_dict.items()}
        raise BadFields(problems) from None
    if problems := adapters()[channel.kind].problems(channel):
        raise BadFields(problems)


@transaction.atomic
def make_first_links(*, study: Study, count: int, at: datetime) -> None:
    """Open a channel of invitations with `count` links, unless the study has a channel of any kind.

    Raises: ClaimRefused when the study is archived.
    """
    study = Study.objects.select_for_update(of=("self",)).get(pk=study.pk)  # or two launches make two
    if not study.channels.exists():
        invite(channel=invitation_channel(study=study), count=min(count, MOST_AT_ONCE), base_url="", at=at)


def address_for_raters(study: Study) -> str:
    """Return the address of the page from which raters are invited: the only open channel's, else the list of channels."""
    is_open = list(study.channels.filter(is_open=True)[:2])
    if len(is_open) != 1:
        return reverse("annotation:channels", args=[study.slug])
    page = "links" if is_open[0].kind == Channel.Kind.ACCOUNTS else "channel"
    return reverse(f"annotation:{page}", args=[study.slug, is_open[0].key])

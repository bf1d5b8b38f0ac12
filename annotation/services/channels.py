"""Making channels, changing their settings, opening and shutting them."""

import json
from collections.abc import Mapping
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.core.serializers.json import DjangoJSONEncoder
from django.db import transaction
from django.db.models import Q
from django.utils.translation import gettext as _

from annotation.errors import BadFields, ClaimRefused, UnknownName
from annotation.models import Batch, Channel, Study
from annotation.recruitment import ADAPTERS
from annotation.recruitment.options import ChannelOptionsForm
from annotation.services.invitations import refuse_archived

INVITATIONS = "Invitations"


def kinds() -> list[Channel.Kind]:
    """Return the kinds that there are adapters for, in the order in which they are offered."""
    return [kind for kind in Channel.Kind if kind in ADAPTERS]


def options_form_of(kind: str) -> type[forms.Form]:
    """Return the form of a kind's settings: its adapter's, with the fields that all channels have.

    Raises: UnknownName for a kind without an adapter.
    """
    if kind not in ADAPTERS:
        raise UnknownName(_("There are no channels of kind %(kind)s.") % {"kind": kind})
    own = ADAPTERS[kind].options_form
    if issubclass(own, ChannelOptionsForm):
        return own
    return type(own.__name__, (own, ChannelOptionsForm), {"__doc__": own.__doc__, "__module__": own.__module__})


@transaction.atomic
def make_channel(
    *, study: Study, kind: str, name: str, options: Mapping[str, Any], batch: Batch | None = None, is_open: bool = False
) -> Channel:
    """Make a channel into a study, or into one of its batches; it is shut until it is opened.

    options : as the form of the kind's settings takes them

    Raises: UnknownName for a kind without an adapter; BadFields naming settings that can't be taken; ClaimRefused when
    the study is in the archive.
    """
    refuse_archived(study)
    channel = Channel(
        study=study, batch=batch, kind=kind, name=name.strip(), is_open=is_open, options=_clean(kind, options)
    )
    _check(channel)
    channel.save()
    return channel


@transaction.atomic
def change_channel(*, channel: Channel, name: str, options: Mapping[str, Any], batch: Batch | None = None) -> Channel:
    """Change a channel's settings; what the adapter keeps beside them stays.

    Raises: BadFields naming settings that can't be taken.
    """
    channel = _locked(channel)
    channel.name, channel.batch = name.strip(), batch
    channel.options = {**channel.options, **_clean(channel.kind, options)}
    _check(channel)
    channel.save(update_fields=["name", "batch", "options"])
    return channel


@transaction.atomic
def set_open(*, channel: Channel, is_open: bool) -> Channel:
    """Let newcomers in, or no more of them; those who are in go on either way.

    Raises: ClaimRefused when the study is in the archive.
    """
    channel = _locked(channel)
    if is_open:
        refuse_archived(channel.study)
    channel.is_open = is_open
    channel.save(update_fields=["is_open"])
    return channel


@transaction.atomic
def invitation_channel(*, study: Study, batch: Batch | None = None) -> Channel:
    """Return the open channel that a study's invitations go through, or those into one batch; made if there is none.

    Raises: ClaimRefused when the study is in the archive, or the only such channel was shut.
    """
    study = Study.objects.select_for_update(of=("self",)).get(pk=study.pk)  # two at once make one
    refuse_archived(study)
    there = list(study.channels.filter(kind=Channel.Kind.ACCOUNTS, batch=batch).select_related("study"))
    if (usable := next((channel for channel in there if channel.is_open), None)) is not None:
        return usable
    if there:
        raise ClaimRefused(
            _("Channel %(name)s is shut: its links would lead nowhere. Open it first.") % {"name": there[0].name}
        )
    return make_channel(
        study=study,
        kind=Channel.Kind.ACCOUNTS,
        name=_free_name(study, INVITATIONS if batch is None else f"{INVITATIONS}: {batch.name}"[:90]),
        options={},
        batch=batch,
        is_open=True,
    )


def channel_of_rater(*, study: Study, code: str) -> Channel:
    """Return the channel that a rater of a study came through, or was invited through.

    Raises: UnknownName when there is no such rater, or they came through none.
    """
    of_rater = Q(participants__annotator__code=code) | Q(invitations__annotator__code=code)
    found = study.channels.filter(of_rater).select_related("study").first()
    if found is None:
        raise UnknownName(_("No rater %(code)s has come through a channel of this study.") % {"code": code})
    return found


def _locked(channel: Channel) -> Channel:
    return Channel.objects.select_for_update(of=("self",)).select_related("study").get(pk=channel.pk)


def _clean(kind: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings as the kind's form understands them, in values that JSON can hold."""
    form = options_form_of(kind)(options)
    if not form.is_valid():
        raise BadFields({field: [str(text) for text in texts] for field, texts in form.errors.items()})
    cleaned: dict[str, Any] = json.loads(json.dumps(form.cleaned_data, cls=DjangoJSONEncoder))
    return cleaned


def _check(channel: Channel) -> None:
    if channel.batch is not None and channel.batch.study_id != channel.study_id:
        raise BadFields({"batch": [_("That batch belongs to another study.")]})
    try:
        channel.full_clean()
    except ValidationError as error:
        raise BadFields({_place(field): texts for field, texts in error.message_dict.items()}) from None
    if problems := ADAPTERS[channel.kind].problems(channel):
        raise BadFields(problems)


def _place(field: str) -> str:
    """Name the field that a broken rule is about: the one rule about several is that names are not used twice."""
    return "name" if field == "__all__" else field


def _free_name(study: Study, name: str) -> str:
    taken = set(study.channels.values_list("name", flat=True))
    others = (f"{name} {number}" for number in range(2, len(taken) + 3))
    return next(free for free in (name, *others) if free not in taken)

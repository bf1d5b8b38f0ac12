"""The adapter that each kind of recruitment channel implements, and the adapters by kind."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from functools import cache
from importlib import import_module
from typing import Any, ClassVar

from django import forms
from django.contrib.auth.models import User
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse

from annotation.core.errors import Unacceptable
from annotation.models import Annotator, Assignment, Channel


class ClaimKind(StrEnum):
    """Why a rater is about to get a slot of a HIT."""

    NEW = "new"  # a HIT that they have not had
    RESUMED = "resumed"  # they return to an unfinished HIT whose lease expired
    SENT = "sent"  # votes arrive for a HIT whose lease expired


class WorkOutcome(StrEnum):
    """The end of a rater's work in a study."""

    COMPLETED = "completed"  # at least one HIT counts or is paid
    SCREENED_OUT = "screened-out"  # they declined consent, or did not pass the qualification
    TIMED_OUT = "timed-out"  # their time ran out, and no HIT counts or is paid
    NOTHING = "nothing"  # there was no HIT for them


@dataclass(frozen=True)
class CompletionMessage:
    """The message shown to a rater at the end, and the way back to the platform they came from.

    url    : a link back; empty without one
    leaves : they return to the platform, so nothing else on the page may ask them to wait
    """

    text: str
    url: str = ""
    label: str = ""
    code: str = ""
    leaves: bool = False


@dataclass(frozen=True)
class Panel:
    """The part of a channel's page above its settings.

    action_forms : by their names in the context; each keeps what was typed when an action is refused
    """

    template: str
    context: Mapping[str, Any]
    action_forms: Mapping[str, forms.Form] = field(default_factory=dict)


class Adapter(ABC):
    """One kind of channel. An adapter holds no state: everything is in the channel's rows."""

    kind: ClassVar[str]  # at most 12 characters
    label: ClassVar[str] = ""  # of a kind that is not in `Channel.Kind`
    summary: ClassVar[str] = ""  # one sentence for the page that offers the kinds
    help_page: ClassVar[str] = "howto/recruit.md"  # of the documentation
    options_form: ClassVar[type[forms.Form]] = forms.Form  # its cleaned data become the channel's options

    def problems(self, channel: Channel) -> dict[str, list[str]]:
        """Return the problems of a channel's options that the form alone can't find, by field."""
        return {}

    @abstractmethod
    def arrive(self, request: HttpRequest, channel: Channel) -> HttpResponse:
        """Answer a request to the channel's address: sign the visitor in and redirect to their work, or say why not."""

    @abstractmethod
    def panel(self, channel: Channel) -> Panel:
        """Return what an admin sees of the channel: its address, its raters, its actions."""

    def act(self, *, channel: Channel, action: str, data: Mapping[str, str], by: User, at: datetime) -> str:
        """Do a panel's action, and return a one-line message with the result.

        Raises: Unacceptable for an action that this kind doesn't have, or data that can't be taken.
        """
        raise Unacceptable(f"channels of this kind have no action {action!r}")

    def hits_left(self, *, annotator: Annotator, channel: Channel, claim: ClaimKind = ClaimKind.NEW) -> int | None:
        """Return how many further HITs this channel lets an annotator have, or None without a limit of its own."""
        limit = channel.options.get("most_hits")
        if limit is None:
            return None
        claimed = annotator.assignments.filter(state__in=(Assignment.State.CLAIMED, Assignment.State.SUBMITTED))
        return int(limit) - claimed.exclude(purpose=Assignment.Purpose.QUALIFICATION).count()

    def work_of(self, annotator: Annotator) -> QuerySet[Assignment]:
        """Return the HITs that an outcome is about, without the qualification: all of a rater's, or those of one visit."""
        return annotator.assignments.exclude(purpose=Assignment.Purpose.QUALIFICATION)

    def completion_message(
        self, *, annotator: Annotator, outcome: WorkOutcome, at: datetime
    ) -> CompletionMessage | None:
        """Return the message for a rater at the end, or None without one."""
        return None


# Modules of this room, each of which registers an adapter. They are loaded late: few commands need them.
CHANNEL_ADAPTERS = (
    "accounts",
    "anonymous",
    "mturk.adapter",
    "prolific.adapter",
)
_registered: dict[str, Adapter] = {}


def register(adapter: type[Adapter]) -> type[Adapter]:
    """Register an adapter for its kind."""
    if adapter.kind in _registered:
        raise ValueError(f"there are two adapters of kind {adapter.kind}")
    _registered[adapter.kind] = adapter()
    if adapter.kind not in Channel.Kind.values:
        Channel.added_kinds[adapter.kind] = adapter.label or adapter.kind
    return adapter


@cache
def adapters() -> dict[str, Adapter]:
    """Return the adapters by kind of channel."""
    for module in CHANNEL_ADAPTERS:
        import_module(f"annotation.recruitment.{module}")
    return _registered


def adapter_of(channel: Channel) -> Adapter:
    """Return the adapter that runs a channel."""
    return adapters()[channel.kind]

"""What every way into a study has to answer: who came, what the channel's page shows, and where people go at the end."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any, ClassVar

from django import forms
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse

from annotation.errors import Unacceptable
from annotation.models import Annotator, Assignment, Channel


class Outcome(StrEnum):
    """How somebody's work in a study came to its end."""

    COMPLETED = "completed"  # they did what there was to do for them
    SCREENED_OUT = "screened-out"  # they declined consent, or did not pass the qualification
    TIMED_OUT = "timed-out"  # their time ran out, and others have their place
    NOTHING = "nothing"  # there was nothing for them from the start


@dataclass(frozen=True)
class Farewell:
    """What a rater is told at the end, and the way back to where they came from.

    url    : a link that they follow; empty when there is none
    action : where a form with `fields` is sent to, for platforms that want one; its origin has to be allowed by the page
    """

    text: str
    url: str = ""
    label: str = ""
    code: str = ""
    action: str = ""
    fields: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Panel:
    """What the page of one channel shows below its settings."""

    template: str
    context: Mapping[str, Any]


class Adapter(ABC):
    """One kind of channel. An adapter holds no state: everything is in the channel's rows."""

    kind: ClassVar[str]
    options_form: ClassVar[type[forms.Form]] = forms.Form  # its cleaned data become the channel's options

    def problems(self, channel: Channel) -> dict[str, list[str]]:
        """Return what is wrong with a channel's options that the form can't know, by field."""
        return {}

    @abstractmethod
    def arrive(self, request: HttpRequest, channel: Channel) -> HttpResponse:
        """Answer whoever opened the channel's address: sign them in and lead them on, or say why not."""

    @abstractmethod
    def panel(self, channel: Channel) -> Panel:
        """Return what an admin sees of the channel: its address, who came, what can be done."""

    def act(self, *, channel: Channel, action: str, data: Mapping[str, str], by: User, at: datetime) -> str:
        """Do what a button of the panel asks for, and return one line that says what came of it.

        Raises: Unacceptable for an action that this kind doesn't have, or data that can't be taken.
        """
        raise Unacceptable(f"{action!r} is nothing that a channel of this kind does")

    def hits_left(self, *, annotator: Annotator, channel: Channel) -> int | None:
        """Return how many further HITs this channel lets an annotator have; None for no limit of its own."""
        most = channel.options.get("most_hits")
        if most is None:
            return None
        had = annotator.assignments.filter(state__in=(Assignment.State.CLAIMED, Assignment.State.SUBMITTED))
        return int(most) - had.exclude(purpose=Assignment.Purpose.QUALIFICATION).count()

    def farewell(self, *, annotator: Annotator, outcome: Outcome, at: datetime) -> Farewell | None:
        """Return what somebody who came through this channel is told at the end; None for nothing of its own."""
        return None


ADAPTERS: dict[str, Adapter] = {}


def register(adapter: type[Adapter]) -> type[Adapter]:
    """Make an adapter the one of its kind."""
    if adapter.kind in ADAPTERS:
        raise ValueError(f"there are two adapters of kind {adapter.kind}")
    ADAPTERS[adapter.kind] = adapter()
    return adapter


def adapter_of(channel: Channel) -> Adapter:
    """Return the adapter that runs a channel."""
    return ADAPTERS[channel.kind]

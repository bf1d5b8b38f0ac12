"""The HITs for MTurk before they are offered: what is missing, how many there will be, and what they cost.

MTurk has no drafts: a HIT is offered when it is made. What is checked beforehand is this page, and the sandbox.
"""

from dataclasses import dataclass
from decimal import Decimal
from importlib.util import find_spec

from django.db.models import QuerySet
from django.utils import timezone

from annotation.core.counting import to_cents
from annotation.models import Batch, Channel
from annotation.recruitment.launch_checks import Check, address_check, hourly_checks, opening_checks
from annotation.recruitment.mturk.hits import hit_sizes, on_offer, slots_to_fill
from annotation.recruitment.mturk.site import MONEY, MturkSettings
from annotation.studies.hourly_pay import HourlyPay, hourly_pay

FEE = Decimal("0.20")  # of the reward, for HITs of at most nine assignments
LEAST_FEE = Decimal("0.01")  # an assignment


@dataclass(frozen=True)
class PlannedHits:
    """The HITs for slots neither filled nor on offer. `reward` and `cost` are None while no reward is known."""

    places: int
    hits: int
    on_offer: int
    reward: Decimal | None
    cost: Decimal | None


def offer_of(channel: Channel) -> PlannedHits:
    """Return the HITs that `publish` makes once all batches of the channel are open, with MTurk's fee."""
    mturk, batches = MturkSettings.of(channel), list(_batches(channel))
    offered = sum(on_offer(channel, timezone.now()).values())
    slots = max(slots_to_fill(channel, batches) - offered, 0)
    hits = len(hit_sizes(slots, batches))
    if not MONEY.fullmatch(mturk.reward):
        return PlannedHits(slots, hits, offered, None, None)
    reward = Decimal(mturk.reward)
    return PlannedHits(slots, hits, offered, reward, slots * (reward + max(to_cents(reward * FEE), LEAST_FEE)))


def _batches(channel: Channel) -> QuerySet[Batch]:
    own = channel.study.batches.filter(purpose=Batch.Purpose.RATING, origin=Batch.Origin.COLLECTED)
    own = own.filter(pk=channel.batch_id) if channel.batch_id else own
    return own.exclude(status=Batch.Status.CLOSED)


def checks(channel: Channel, offer: PlannedHits) -> list[Check]:
    """Return what offering HITs needs, in the order in which it is done."""
    mturk, in_settings = MturkSettings.of(channel), "Set it in the settings below."
    return [
        Check("Title", bool(mturk.title.strip()), in_settings, for_draft=True, in_settings=True),
        Check("Description", bool(mturk.description.strip()), in_settings, for_draft=True, in_settings=True),
        Check(
            "Reward",
            offer.reward is not None,
            "Set it in the settings below, or the study’s pay in USD.",
            for_draft=True,
            in_settings=True,
        ),
        *hourly_checks(_hourly(channel, offer)),
        Check(
            "Requirements",
            bool(mturk.requirements.strip()),
            "Without any, every worker can accept: see the settings.",
            is_advice=True,
        ),
        Check(
            "Places",
            offer.places + offer.on_offer > 0,
            "No place is free: create a batch, or extend one.",
            for_draft=True,
        ),
        Check(
            "Access key",
            mturk.has_key,
            "Name its two variables in the settings, and set them on the server.",
            in_settings=True,
        ),
        Check("boto3", find_spec("boto3") is not None, "Install the extra mturk on the server."),
        address_check(),
        *opening_checks(channel),
    ]


def _hourly(channel: Channel, offer: PlannedHits) -> HourlyPay | None:
    return hourly_pay(offer.reward, "USD", channel.study.minutes_per_hit)

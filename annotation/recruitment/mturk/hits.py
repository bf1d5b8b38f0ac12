"""HITs on MTurk: check and offer a study, publish as many assignments as there are open slots, and expire them."""

import re
from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from importlib.util import find_spec
from xml.sax.saxutils import escape

from django.conf import settings
from django.db import transaction
from django.db.models import Q, QuerySet
from django.urls import reverse
from django.utils import timezone
from django.utils.dateparse import parse_datetime

from annotation.annotators.participants import refuse_closed
from annotation.core.counting import to_cents
from annotation.core.errors import Unacceptable
from annotation.models import Assignment, Batch, Channel, PlatformAction, Slot
from annotation.recruitment.launch_checks import Check, address_check, hourly_checks, opening_checks
from annotation.recruitment.mturk.client import MturkClient, MturkRefused, RunSummary, send_requests, was_done_before
from annotation.recruitment.mturk.site import MONEY, MturkSettings, parse_requirements
from annotation.recruitment.mturk.work import DONE as WORKED
from annotation.recruitment.mturk.work import HIT
from annotation.recruitment.outbox import Json, State, lock_channel, write_down
from annotation.studies.hourly_pay import hourly_pay

EXPIRE = "expire"
MOST_ASSIGNMENTS = 9  # from ten on, MTurk's fee is higher
LONG_AGO = datetime(2015, 1, 1, tzinfo=UTC)  # an expiration in the past takes a HIT down at once
QUESTION = (
    '<ExternalQuestion xmlns="http://mechanicalturk.amazonaws.com/AWSMechanicalTurkDataSchemas/2006-07-14/'
    'ExternalQuestion.xsd"><ExternalURL>{url}</ExternalURL><FrameHeight>0</FrameHeight></ExternalQuestion>'
)


def publish(*, channel: Channel, at: datetime, limit: int | None = None) -> RunSummary:
    """Publish MTurk HITs with as many assignments as the channel's batches have slots neither filled nor on offer.

    Finishes an interrupted run first. A worker can accept each MTurk HIT once, as each of ours, so the assignments are
    spread over MTurk HITs as the slots are over ours.
    Raises: Unacceptable saying what is missing; ClaimRefused when the channel is closed; KeyMissing.
    """
    refuse_closed(channel)
    mturk = MturkSettings(channel)
    request = hit_request(channel, mturk)
    _plan_hits(channel, at)
    with closing(MturkClient(mturk)) as client:
        unanswered = channel.actions.filter(kind=HIT).exclude(state=State.DONE)
        if unanswered.filter(attempts__gte=1).exists():
            adopt_hits(client, channel)
        waiting = channel.actions.filter(kind=HIT).exclude(state=State.DONE).order_by("pk")

        def send(client: MturkClient, action: PlatformAction) -> Json:
            return _create(client, action, request)

        return send_requests(client=client, actions=list(waiting), send=send, at=at, limit=limit)


def expire(*, channel: Channel, at: datetime, limit: int | None = None) -> RunSummary:
    """Take down every HIT on offer. Workers who have accepted one can finish.

    Raises: KeyMissing.
    """
    with closing(MturkClient(MturkSettings(channel))) as client:
        offered = on_offer(channel, at)
        actions = [
            write_down(channel=channel, kind=EXPIRE, key=f"expire:{hit_id}", payload={"hit_id": hit_id})
            for hit_id in offered
        ]
        return send_requests(client=client, actions=actions, send=_take_down, at=at, limit=limit)


def hit_request(channel: Channel, mturk: MturkSettings) -> Json:
    """Return the arguments of CreateHIT that all HITs of a channel share.

    Raises: Unacceptable naming missing settings.
    """
    required = {"title": mturk.title, "description": mturk.description, "reward in dollars": mturk.reward}
    if missing := [name for name, value in required.items() if not value.strip()]:
        raise Unacceptable(f"Set these in the channel’s settings first: {', '.join(missing)}.")
    url = settings.BASE_URL.rstrip("/") + reverse("annotation:join", args=[channel.key])
    if not url.startswith("https://") and not mturk.is_stand_in:
        raise Unacceptable(f"MTurk shows pages over HTTPS only; BASE_URL is {settings.BASE_URL}.")
    return {
        "Title": mturk.title,
        "Description": mturk.description,
        "Keywords": mturk.keywords,
        "Reward": mturk.reward,
        "AssignmentDurationInSeconds": mturk.duration_minutes * 60,
        "LifetimeInSeconds": mturk.lifetime_days * 24 * 60 * 60,
        "AutoApprovalDelayInSeconds": mturk.auto_approval_days * 24 * 60 * 60,
        "QualificationRequirements": parse_requirements(mturk.requirements),
        "Question": QUESTION.format(url=escape(url)),
    }


def _batches(batches: QuerySet[Batch], channel: Channel) -> list[Batch]:
    """Filter the batches whose HITs a channel's raters get."""
    own = batches.filter(study=channel.study, purpose=Batch.Purpose.RATING, origin=Batch.Origin.COLLECTED)
    return list(own.filter(pk=channel.batch_id) if channel.batch_id else own)


@transaction.atomic
def _plan_hits(channel: Channel, at: datetime) -> None:
    """Store actions for the HITs to be made, unless some are pending.

    Raises: Unacceptable when no batch is open.
    """
    lock_channel(channel)
    batches = _batches(Batch.objects.open(), channel)
    if not batches:
        raise Unacceptable("No batch of this channel is open, so there is nothing to offer.")
    before = channel.actions.filter(kind=HIT)
    if before.exclude(state=State.DONE).exists():
        return
    slots = slots_to_fill(channel, batches) - sum(on_offer(channel, at).values())
    number, sizes = before.count(), hit_sizes(slots, batches)
    PlatformAction.objects.bulk_create(
        PlatformAction(channel=channel, kind=HIT, key=f"hit:{number + index}", payload={"max_assignments": size})
        for index, size in enumerate(sizes, start=1)
    )


def hit_sizes(slots: int, batches: Sequence[Batch]) -> list[int]:
    """Return the assignments of each MTurk HIT that so many places come to."""
    each = min(MOST_ASSIGNMENTS, max((batch.raters_per_hit for batch in batches), default=1))
    return [min(each, slots - done) for done in range(0, max(slots, 0), each)]


def slots_to_fill(channel: Channel, batches: Sequence[Batch]) -> int:
    """Count the slots that are free, or claimed by this channel's workers."""
    at_work = Q(assignment__state=Assignment.State.CLAIMED, assignment__annotator__participant__channel=channel)
    return Slot.objects.filter(Q(assignment=None) | at_work, batch__in=batches).count()


def on_offer(channel: Channel, at: datetime) -> dict[str, int]:
    """Return MTurk HIT id → remaining assignments, of the HITs that workers can still accept."""
    expired = set(channel.actions.filter(kind=EXPIRE, state=State.DONE).values_list("payload__hit_id", flat=True))
    used = Counter(
        details.get("hit_id")
        for details in channel.submissions.filter(state__in=WORKED).values_list("details", flat=True)
    )
    offered: dict[str, int] = {}
    for action in channel.actions.filter(kind=HIT, state=State.DONE):
        hit_id, expires = action.answer["hit_id"], parse_datetime(action.answer.get("expires_at") or "")
        unused = action.payload["max_assignments"] - used[hit_id]
        if hit_id not in expired and unused > 0 and (expires is None or expires > at):
            offered[hit_id] = unused
    return offered


def token_of(action: PlatformAction) -> str:
    """Return a HIT's unique request token, which is also its annotation in MTurk's lists."""
    return f"tandem-{action.channel.key}-{action.key.partition(':')[2]}"


def _create(client: MturkClient, action: PlatformAction, request: Json) -> Json:
    token = token_of(action)
    try:
        hit = client.call(
            "create_hit",
            **request,
            MaxAssignments=action.payload["max_assignments"],
            UniqueRequestToken=token,
            RequesterAnnotation=token,
        )["HIT"]
    except MturkRefused as refusal:
        if not was_done_before(refusal):
            raise
        named = re.search(r'"([A-Z0-9]+)"', str(refusal))
        if named is None:
            raise
        hit = client.call("get_hit", HITId=named[1])["HIT"]
    return hit_answer(hit)


def hit_answer(hit: Json) -> Json:
    """Return what is stored of MTurk's description of a HIT."""
    expiration = hit.get("Expiration")
    if isinstance(expiration, datetime):
        expires = expiration.astimezone(UTC)
    else:  # if missing, on offer until `sync` learns more
        expires = datetime.now(tz=UTC) + timedelta(days=365)
    return {
        "hit_id": hit["HITId"],
        "group_id": hit.get("HITGroupId", ""),
        "expires_at": expires.isoformat(),
        "status": hit.get("HITStatus", ""),
    }


def adopt_hits(client: MturkClient, channel: Channel) -> list[Json]:
    """Mark actions as done whose HIT is listed in the account, and return the list.

    Raises: MturkUnreachable; MturkRefused.
    """
    listed = list(client.pages("list_hits", "HITs"))
    by_name = {hit.get("RequesterAnnotation"): hit for hit in listed}
    for action in channel.actions.filter(kind=HIT).exclude(state=State.DONE):
        if (hit := by_name.get(token_of(action))) is not None:
            channel.actions.filter(pk=action.pk).update(state=State.DONE, answer=hit_answer(hit))
    return listed


def _take_down(client: MturkClient, action: PlatformAction) -> Json:
    try:
        client.call("update_expiration_for_hit", HITId=action.payload["hit_id"], ExpireAt=LONG_AGO)
    except MturkRefused as refusal:
        if not was_done_before(refusal):
            raise
    return {"hit_id": action.payload["hit_id"]}


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
    mturk, batches = MturkSettings(channel), _batches(Batch.objects.exclude(status=Batch.Status.CLOSED), channel)
    offered = sum(on_offer(channel, timezone.now()).values())
    slots = max(slots_to_fill(channel, batches) - offered, 0)
    hits = len(hit_sizes(slots, batches))
    if not MONEY.fullmatch(mturk.reward):
        return PlannedHits(slots, hits, offered, None, None)
    reward = Decimal(mturk.reward)
    return PlannedHits(slots, hits, offered, reward, slots * (reward + max(to_cents(reward * FEE), LEAST_FEE)))


def checks(channel: Channel, offer: PlannedHits) -> list[Check]:
    """Return what offering HITs needs, in the order in which it is done."""
    mturk, in_settings = MturkSettings(channel), "Set it in the settings below."
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
        *hourly_checks(hourly_pay(offer.reward, "USD", channel.study.minutes_per_hit)),
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

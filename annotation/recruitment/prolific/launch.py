"""The study at Prolific: made there as a draft from the channel's page, and what is missing before its launch."""

import secrets
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.db import transaction
from django.urls import reverse
from django.utils.translation import gettext as _

from annotation.core.errors import Unacceptable
from annotation.core.money import to_cents
from annotation.models import Batch, Channel, Slot
from annotation.recruitment.outbox import Json
from annotation.recruitment.prolific.client import ProlificClient
from annotation.recruitment.prolific.options import MOST_HITS
from annotation.recruitment.prolific.site import ID, ProlificSettings
from annotation.studies.hourly_pay import hourly_pay_of

if TYPE_CHECKING:
    from decimal import Decimal

PLACEHOLDERS = "PROLIFIC_PID={{%PROLIFIC_PID%}}&STUDY_ID={{%STUDY_ID%}}&SESSION_ID={{%SESSION_ID%}}"
LONGEST_NAME, LONGEST_DESCRIPTION = 120, 5000
# An end's option, the type of its code there, and what becomes of the submission.
CODES = (
    ("code_completed", "COMPLETED", "MANUALLY_REVIEW"),
    ("code_screened_out", "OTHER", "REQUEST_RETURN"),
    ("code_no_consent", "NO_CONSENT", "REQUEST_RETURN"),
    ("code_timed_out", "OTHER", "REQUEST_RETURN"),
)


@dataclass(frozen=True)
class Check:
    """One thing that a launch needs; `for_draft`: the draft at Prolific needs it already."""

    label: str
    is_done: bool
    hint: str
    for_draft: bool = False


def checks(channel: Channel) -> Iterator[Check]:
    """Yield what a launch needs, in the order in which it is done."""
    study, given = channel.study, ProlificSettings.of(channel)
    batches = study.batches.filter(purpose=Batch.Purpose.RATING, status=Batch.Status.OPEN)
    pay = hourly_pay_of(study)
    yield Check(
        _("API token"), bool(given.token), _("Name its variable in the settings below, and set it on the server."), True
    )
    address = settings.BASE_URL
    yield Check(_("Public address"), address.startswith("https://"), _("BASE_URL is %(url)s.") % {"url": address})
    yield Check(_("Pay and expected minutes"), pay is not None, _("Set both in the study’s settings."), True)
    if pay is not None and pay.least is not None:
        least = _("At least %(least)s %(currency)s for an hour; this is %(amount)s.")
        yield Check(_("Hourly pay"), not pay.is_below, least % vars(pay))
    yield Check(_("Places"), free_places(channel) > 0, _("No place is free: make a batch, or extend one."), True)
    made = bool(given.study_id and given.completed)
    yield Check(_("Study at Prolific"), made, _("Make the draft below, or enter its id and code in the settings."))
    yield Check(
        _("Messages"),
        bool(given.webhook_secret),
        _("Without a webhook, press “Ask Prolific what is new” now and then."),
    )
    yield Check(_("Batch"), batches.exists(), _("Launch it: HITs of a draft are not given out."))
    yield Check(_("Channel"), channel.is_open, _("Open it, so that raters can join."))


def free_places(channel: Channel) -> int:
    """Return the places to ask for: free slots of ratings, by the HITs that a place pays for."""
    free = Slot.objects.filter(assignment=None, batch__study=channel.study_id, batch__purpose=Batch.Purpose.RATING)
    free = free.filter(batch=channel.batch_id) if channel.batch_id else free
    return -(-free.exclude(batch__status=Batch.Status.CLOSED).count() // hits_of_place(channel))


def hits_of_place(channel: Channel) -> int:
    """Return the number of HITs that one place pays for."""
    return int(channel.options.get("most_hits") or MOST_HITS)


def reward_of(channel: Channel) -> "Decimal | None":
    """Return the pay of one place; None where the study names no pay."""
    pay = channel.study.pay_per_hit
    return None if pay is None else to_cents(pay * hits_of_place(channel))


def make_draft(*, channel: Channel, data: Mapping[str, str], client: ProlificClient) -> str:
    """Make the study at Prolific as a draft, keep its id and codes, and return the id.

    A draft recruits nobody and costs nothing: it is published at Prolific, where screening is set too.

    Raises: Unacceptable when there is one, something is missing or a text is; ProlificRefused, ProlificUnreachable.
    """
    if channel.options.get("study_id"):
        raise Unacceptable(_("This channel has a study at Prolific already."))
    if missing := [check.label for check in checks(channel) if check.for_draft and not check.is_done]:
        raise Unacceptable(_("Missing: %(what)s.") % {"what": ", ".join(missing)})
    codes = {option: str(channel.options.get(option) or "") or secrets.token_hex(4).upper() for option, *_rest in CODES}
    answer = client.create_study(_draft(channel, data, codes))
    study_id = str(answer.get("id") or "")
    if not ID.fullmatch(study_id):
        raise Unacceptable(_("Prolific’s answer names no study: look there for a draft before another one is made."))
    with transaction.atomic():
        locked = Channel.objects.select_for_update(of=("self",)).get(pk=channel.pk)
        locked.options |= {**codes, "study_id": study_id}
        locked.save(update_fields=["options"])
    return study_id


def _draft(channel: Channel, data: Mapping[str, str], codes: Mapping[str, str]) -> Json:
    """Return the draft as docs.prolific.com/api-reference/studies/create-study has it."""
    name, about, places = (data.get(field, "").strip() for field in ("name", "description", "places"))
    if not (0 < len(name) <= LONGEST_NAME and 0 < len(about) <= LONGEST_DESCRIPTION):
        raise Unacceptable(_("Give a title and a description; participants read both."))
    if not (places.isascii() and places.isdigit() and 0 < int(places) <= 10_000):
        raise Unacceptable(_("Places: a whole number from 1 to 10,000."))
    reward, minutes = reward_of(channel), channel.study.minutes_per_hit or 0
    asked: dict[str, Any] = {"return_reason": "This study can't be continued. Please return your submission."}
    return {
        "name": name,
        "internal_name": f"{channel.study.slug}: {channel.name}"[:LONGEST_NAME],
        "description": about,
        "external_study_url": f"{settings.BASE_URL.rstrip('/')}{reverse('annotation:join', args=[channel.key])}?{PLACEHOLDERS}",
        "prolific_id_option": "url_parameters",
        "completion_codes": [
            {
                "code": codes[option],
                "code_type": kind,
                "actions": [{"action": action, **(asked if action == "REQUEST_RETURN" else {})}],
            }
            for option, kind, action in CODES
        ],
        "total_available_places": int(places),
        "estimated_completion_time": minutes * hits_of_place(channel),
        "reward": int((reward or 0) * 100),
    }

"""The study at Prolific: what is missing before its launch, its draft, its publication and its places."""

import re
import secrets
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.db import transaction
from django.urls import reverse

from annotation.core.counting import to_cents
from annotation.core.errors import Unacceptable
from annotation.models import Channel, PlatformAction
from annotation.recruitment.launch_checks import (
    Check,
    address_check,
    free_slots,
    hourly_checks,
    opening_checks,
    refuse_missing,
)
from annotation.recruitment.outbox import DONE, Json, ask_once, begin, write_down
from annotation.recruitment.prolific.client import ProlificClient
from annotation.recruitment.prolific.site import ID, MOST_HITS, ProlificSettings
from annotation.studies.hourly_pay import hourly_pay_of

if TYPE_CHECKING:
    from decimal import Decimal

USUAL = "approval_rate >= 95"
MOST_FILTERS = 20
_LINE = re.compile(
    r"([a-z0-9_-]{1,64})\s+(?:(>=|<=)\s*([0-9]{1,6})|in\s+([A-Za-z0-9_-]{1,64}(?:\s+[A-Za-z0-9_-]{1,64})*))"
)
_BOUND = {">=": "lower", "<=": "upper"}


def read_filters(text: str) -> list[Json]:
    """Read filters such as `approval_rate >= 95` or `fluent-languages in 19 20`. Two bounds of one filter are a range.

    Raises: Unacceptable naming the line.
    """
    filters: dict[str, dict[str, Any]] = {}
    for line in filter(None, (line.strip() for line in text.splitlines())):
        read = _LINE.fullmatch(line)
        if read is None:
            raise Unacceptable(
                f"“{line[:100]}” is no filter. Write, for example, approval_rate >= 95 or fluent-languages in 19."
            )
        name, sign, bound, values = read.groups()
        kind = "selected_range" if sign else "selected_values"
        filter_row = filters.setdefault(name, {"filter_id": name, kind: {} if sign else []})
        if kind not in filter_row or (sign and _BOUND[sign] in filter_row[kind]) or (values and filter_row[kind]):
            raise Unacceptable(f"Filter {name} has two lines that don’t fit together.")
        if sign:
            filter_row[kind][_BOUND[sign]] = int(bound)
        else:
            filter_row[kind] += values.split()
    if len(filters) > MOST_FILTERS:
        raise Unacceptable(f"At most {MOST_FILTERS} filters.")
    return list(filters.values())


PLACEHOLDERS = "PROLIFIC_PID={{%PROLIFIC_PID%}}&STUDY_ID={{%STUDY_ID%}}&SESSION_ID={{%SESSION_ID%}}"
LONGEST_NAME, LONGEST_DESCRIPTION, MOST_PLACES = 120, 5000, 10_000
PUBLISH, UNPUBLISHED = "publish", ("UNPUBLISHED", "SCHEDULED")
BUSY = timedelta(minutes=2)  # longer than a request with its retries on a page
# An end's option, the type of its code there, and what becomes of the submission.
CODES = (
    ("code_completed", "COMPLETED", "MANUALLY_REVIEW"),
    ("code_screened_out", "OTHER", "REQUEST_RETURN"),
    ("code_no_consent", "NO_CONSENT", "REQUEST_RETURN"),
    ("code_timed_out", "OTHER", "REQUEST_RETURN"),
)


def checks(channel: Channel) -> list[Check]:
    """Return what a launch needs, in the order in which it is done."""
    prolific, pay = ProlificSettings(channel), hourly_pay_of(channel.study)
    has_draft = bool(prolific.study_id and prolific.completed)
    return [
        Check(
            "API token",
            bool(prolific.token),
            "Name its variable in the settings below, and set it on the server.",
            in_settings=True,
            for_draft=True,
        ),
        address_check(),
        Check("Pay and expected minutes", pay is not None, "Set both in the study’s settings.", for_draft=True),
        *hourly_checks(pay),
        Check(
            "Places",
            free_places(channel) > 0 or is_published(channel),
            "No place is free: create a batch, or extend one.",
            for_draft=True,
        ),
        Check(
            "Study at Prolific",
            has_draft,
            "Create the draft below, or enter its id and code in the settings. Until then no rater can join.",
        ),
        Check(
            "Messages",
            bool(prolific.webhook_secret),
            "Without a webhook, press “Update from Prolific” now and then.",
            is_advice=True,
        ),
        *opening_checks(channel),
    ]


def free_places(channel: Channel) -> int:
    """Return the places to ask for: free slots of ratings, by the HITs that a place pays for."""
    return -(-free_slots(channel).count() // hits_of_place(channel))


def hits_of_place(channel: Channel) -> int:
    """Return the number of HITs that one place pays for."""
    return int(channel.options.get("most_hits") or MOST_HITS)


def reward_of(channel: Channel) -> "Decimal | None":
    """Return the pay of one place, or None where the study names no pay."""
    pay = channel.study.pay_for(hits_of_place(channel))
    return None if pay is None else to_cents(pay)


def make_draft(*, channel: Channel, data: Mapping[str, str], client: ProlificClient) -> str:
    """Create the study at Prolific as a draft, keep its id and codes, and return the id.

    A draft recruits no participant and costs nothing until it is published.

    Raises: Unacceptable when there is one, something is missing or a text is; ProlificRefused, ProlificUnreachable.
    """
    if channel.options.get("study_id"):
        raise Unacceptable("This channel has a study at Prolific already.")
    refuse_missing(checks(channel), for_draft=True)
    codes = {
        option: str(channel.options.get(option) or "") or secrets.token_hex(4).upper() for option, *_texts in CODES
    }
    answer = client.create_study(_draft(channel, data, codes))
    study_id = str(answer.get("id") or "")
    if not ID.fullmatch(study_id):
        raise Unacceptable("Prolific’s answer names no study: look there for a draft before you create another.")
    with transaction.atomic():
        locked = Channel.objects.select_for_update(of=("self",)).get(pk=channel.pk)
        locked.options |= {**codes, "study_id": study_id}
        locked.save(update_fields=["options"])
    return study_id


def publish(*, channel: Channel, client: ProlificClient, at: datetime) -> bool:
    """Publish the study at Prolific, which costs money from then on. Return False if it was published before.

    Raises: Unacceptable naming what is missing; ProlificRefused, ProlificUnreachable, TokenMissing.
    """
    refuse_missing(checks(channel))
    client.require_token()
    study_id = client.given.study_id
    action = write_down(channel=channel, kind=PUBLISH, key=f"{PUBLISH}:{study_id}", payload={})
    if not begin(action, at=at, busy_for=BUSY):
        return False

    def send(action: PlatformAction) -> Json:
        if not action.attempts or client.study().get("status") in UNPUBLISHED:
            client.change_state("PUBLISH")
        return {"published_at": at.isoformat()}

    ask_once(action, send, at=at)
    return True


def is_published(channel: Channel) -> bool:
    """Tell whether the channel's study was published from here."""
    return channel.actions.filter(key=f"{PUBLISH}:{channel.options.get('study_id')}", state=DONE).exists()


def set_places(*, channel: Channel, text: str, client: ProlificClient) -> int:
    """Set and return the number of places of the study at Prolific, which only grows once it is published.

    Raises: Unacceptable for no such number; ProlificRefused, ProlificUnreachable, TokenMissing.
    """
    number = _read_places(text)
    client.change_study({"total_available_places": number})
    return number


def _read_places(text: str) -> int:
    if not (text.isascii() and text.isdigit() and 0 < int(text) <= MOST_PLACES):
        raise Unacceptable("Places: a whole number from 1 to 10,000.")
    return int(text)


def _draft(channel: Channel, data: Mapping[str, str], codes: Mapping[str, str]) -> Json:
    """Return the draft as docs.prolific.com/api-reference/studies/create-study has it."""
    name, description, number = (data.get(field, "").strip() for field in ("name", "description", "places"))
    if not (0 < len(name) <= LONGEST_NAME and 0 < len(description) <= LONGEST_DESCRIPTION):
        raise Unacceptable("Give a title and a description; participants read both.")
    reward, minutes = reward_of(channel), channel.study.minutes_per_hit or 0
    fields: dict[str, Any] = {"return_reason": "This study can't be continued. Please return your submission."}
    return {
        "name": name,
        "internal_name": f"{channel.study.slug}: {channel.name}"[:LONGEST_NAME],
        "description": description,
        "external_study_url": f"{settings.BASE_URL.rstrip('/')}{reverse('annotation:join', args=[channel.key])}?{PLACEHOLDERS}",
        "prolific_id_option": "url_parameters",
        "completion_codes": [
            {
                "code": codes[option],
                "code_type": kind,
                "actions": [{"action": action, **(fields if action == "REQUEST_RETURN" else {})}],
            }
            for option, kind, action in CODES
        ],
        "total_available_places": _read_places(number),
        "filters": read_filters(data.get("screening", "")),
        "estimated_completion_time": minutes * hits_of_place(channel),
        "reward": int((reward or 0) * 100),
    }

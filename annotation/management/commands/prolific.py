"""`prolific ACTION STUDY …`. Every action can be retried after a failure."""

import json
from typing import Any

from django.core.management.base import CommandParser
from django.utils import timezone

from annotation.management.commands._base import TandemCommand
from annotation.management.commands._channels import add_channel, channel_of
from annotation.models import Channel
from annotation.recruitment.outbox import Json
from annotation.recruitment.prolific import actions
from annotation.recruitment.prolific.client import ProlificClient
from annotation.recruitment.prolific.panel import find_submission
from annotation.recruitment.prolific.site import CATEGORIES, ProlificSettings
from annotation.recruitment.prolific.submissions import release_browser
from annotation.recruitment.prolific.updates import sync


class Command(TandemCommand):
    help = (
        "Update a study's submissions from Prolific, and approve, reject or pay them. Prints one JSON document. "
        "Actions can be repeated: nothing is decided or paid twice."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        subparsers = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
        add_channel(subparsers.add_parser("sync", help="update all submissions from Prolific"), "Prolific")
        for name, text in (
            ("approve", "approve a submission: its participant is paid"),
            ("reject", "reject a submission, with a reason that the participant reads"),
            ("bonus", "pay a bonus for a submission"),
            ("release", "allow its participant to continue in another browser"),
        ):
            action = add_channel(subparsers.add_parser(name, help=text), "Prolific")
            action.add_argument("submission", metavar="SUBMISSION", help="as Prolific names it (SESSION_ID)")
            if name == "reject":
                action.add_argument(
                    "--reason", required=True, help="reason that the participant reads, at least 100 characters"
                )
                action.add_argument("--category", required=True, help=f"one of {', '.join(CATEGORIES)}")
            if name == "bonus":
                action.add_argument("--amount", required=True, help="in the study's currency, such as 0.75")
                action.add_argument(
                    "--reference", default="", help="another reference pays the same amount a second time"
                )

    def handle(self, *args: Any, **options: Any) -> None:
        channel = channel_of(options, Channel.Kind.PROLIFIC, "Prolific")
        self.say(json.dumps(_run(channel, options), ensure_ascii=False))


def _run(channel: Channel, options: dict[str, Any]) -> Json:
    now, action = timezone.now(), options["action"]
    client = ProlificClient(ProlificSettings(channel))
    if action == "sync":
        return vars(sync(channel=channel, client=client, at=now))
    submission = find_submission(channel, options["submission"])
    if action == "release":
        release_browser(submission=submission)
        return {"submission": submission.external_id, "released": True}
    if action == "approve":
        done = actions.approve(submission=submission, client=client, at=now)
    elif action == "reject":
        words = {"reason": options["reason"], "category": options["category"]}
        done = actions.reject(submission=submission, client=client, at=now, **words)
    else:
        arguments = {"amount": options["amount"], "reference": options["reference"]}
        done = actions.bonus(submission=submission, client=client, at=now, **arguments)
    submission.refresh_from_db()
    return {
        "submission": submission.external_id,
        "action": done.action.key,
        "state": submission.state,
        "done_before": done.before,
    }

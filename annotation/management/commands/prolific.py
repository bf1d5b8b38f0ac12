"""`prolific ACTION STUDY …`. Every action can be retried after a failure."""

import json
from typing import Any

from django.core.management.base import CommandParser
from django.utils import timezone

from annotation.management.commands._base import TandemCommand
from annotation.management.commands._channels import add_channel, channel_of
from annotation.models import Channel
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
        now, action = timezone.now(), options["action"]
        client = ProlificClient(ProlificSettings(channel))
        if action == "sync":
            document = vars(sync(channel=channel, client=client, at=now))
        else:
            submission = find_submission(channel, options["submission"])
            document = {"submission": submission.external_id}
            common: dict[str, Any] = {"submission": submission, "client": client, "at": now}
            if action == "release":
                release_browser(submission=submission)
                document["released"] = True
            else:
                if action == "approve":
                    done = actions.approve(**common)
                elif action == "reject":
                    done = actions.reject(reason=options["reason"], category=options["category"], **common)
                else:
                    done = actions.bonus(amount=options["amount"], reference=options["reference"], **common)
                submission.refresh_from_db()
                document |= {"action": done.action.key, "state": submission.state, "done_before": done.before}
        self.say(json.dumps(document, ensure_ascii=False))

"""Prolific from the command line: learn what became of submissions, decide, pay."""

import json
from typing import Any

from django.core.management.base import CommandParser
from django.utils import timezone

from annotation.errors import UnknownName
from annotation.management.commands._base import TandemCommand
from annotation.models import Channel
from annotation.services import prolific_actions
from annotation.services.prolific_buttons import find_submission
from annotation.services.prolific_client import Json, ProlificClient
from annotation.services.prolific_site import CATEGORIES, ProlificSettings
from annotation.services.prolific_submissions import release_browser
from annotation.services.prolific_sync import sync
from annotation.services.studies import find_study


class Command(TandemCommand):
    """Each can be run again after any failure: nothing is done twice."""

    help = (
        "Ask Prolific what became of a study's submissions (sync), approve or reject one, pay a bonus for one, let a "
        "participant in from another browser (release). Prints one JSON document. Every one of them may be run again: "
        "nothing is decided or paid twice."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """Name the deed, the study and what the deed needs."""
        deeds = parser.add_subparsers(dest="deed", required=True, metavar="DEED")
        _common(deeds.add_parser("sync", help="ask Prolific for all submissions"))
        for name, text in (
            ("approve", "approve a submission: its participant is paid"),
            ("reject", "reject a submission, with words for its participant"),
            ("bonus", "pay a bonus for a submission"),
            ("release", "let its participant in from another browser"),
        ):
            deed = _common(deeds.add_parser(name, help=text))
            deed.add_argument("submission", metavar="SUBMISSION", help="as Prolific names it (SESSION_ID)")
            if name == "reject":
                deed.add_argument(
                    "--reason", required=True, help="at least 100 characters, which the participant reads"
                )
                deed.add_argument("--category", required=True, help=f"one of {', '.join(CATEGORIES)}")
            if name == "bonus":
                deed.add_argument("--amount", required=True, help="in the study's currency, such as 0.75")
                deed.add_argument(
                    "--reference", default="", help="another reference pays the same amount a second time"
                )

    def handle(self, *args: Any, **options: Any) -> None:
        """Do it, and print what came of it."""
        channel = find_channel(options["study"], options["channel"])
        self.say(json.dumps(_do(channel, options), ensure_ascii=False))


def _common(parser: CommandParser) -> CommandParser:
    parser.add_argument("study", metavar="STUDY")
    parser.add_argument(
        "--channel", default=None, metavar="NAME", help="needed where the study has several for Prolific"
    )
    return parser


def find_channel(slug: str, name: str | None) -> Channel:
    """Return the study's Prolific channel, or the one of this name.

    Raises: UnknownStudy; UnknownName.
    """
    channels = find_study(slug).channels.filter(kind=Channel.Kind.PROLIFIC).select_related("study")
    found = list(channels.filter(name=name) if name else channels)
    if len(found) != 1:
        names = ", ".join(channels.values_list("name", flat=True))
        raise UnknownName(f"name one Prolific channel of study {slug} with --channel; there are: {names or 'none'}")
    return found[0]


def _do(channel: Channel, options: dict[str, Any]) -> Json:
    now, deed = timezone.now(), options["deed"]
    client = ProlificClient(ProlificSettings.of(channel))
    if deed == "sync":
        return vars(sync(channel=channel, client=client, at=now))
    submission = find_submission(channel, options["submission"])
    if deed == "release":
        release_browser(submission=submission)
        return {"submission": submission.external_id, "released": True}
    if deed == "approve":
        done = prolific_actions.approve(submission=submission, client=client, at=now)
    elif deed == "reject":
        words = {"reason": options["reason"], "category": options["category"]}
        done = prolific_actions.reject(submission=submission, client=client, at=now, **words)
    else:
        wanted = {"amount": options["amount"], "reference": options["reference"]}
        done = prolific_actions.bonus(submission=submission, client=client, at=now, **wanted)
    submission.refresh_from_db()
    return {
        "submission": submission.external_id,
        "action": done.action.key,
        "state": submission.state,
        "done_before": done.before,
    }

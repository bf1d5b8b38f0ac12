"""Amazon Mechanical Turk from the command line: offer HITs, learn what became of them, decide, pay."""

import json
from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.utils import timezone

from annotation.errors import UnknownName
from annotation.management.commands._base import TandemCommand
from annotation.models import Channel
from annotation.services import mturk_actions, mturk_hits
from annotation.services.mturk_requests import Tally
from annotation.services.mturk_sync import sync
from annotation.services.studies import find_study


class Command(TandemCommand):
    """Each can be run again after any failure: nothing is done twice."""

    help = (
        "Offer a study's HITs on Mechanical Turk (publish), learn what workers submitted (sync), approve or reject it, "
        "pay a bonus, give raters a qualification (qualify), take HITs down (expire). Prints one JSON document. Every "
        "one of them may be run again: nothing is offered, decided or paid twice."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """Name the deed, the study and what the deed needs."""
        deeds = parser.add_subparsers(dest="deed", required=True, metavar="DEED")
        for name, text in (
            ("publish", "make HITs for all slots that nobody fills or is offered"),
            ("sync", "ask MTurk for HITs and assignments"),
            ("expire", "take down every HIT on offer"),
        ):
            _common(deeds.add_parser(name, help=text))
        for name, text in (
            ("approve", "approve assignments, or all that are in order"),
            ("reject", "reject assignments, with words for their workers"),
            ("bonus", "pay a bonus for assignments"),
        ):
            deed = _common(deeds.add_parser(name, help=text))
            deed.add_argument(
                "--assignment", nargs="+", default=None, metavar="ID", help="assignments, as MTurk names them"
            )
            if name == "approve":
                deed.add_argument("--override", action="store_true", help="also what was rejected, up to 30 days ago")
            if name == "bonus":
                deed.add_argument("--amount", required=True, help="dollars and cents, such as 0.75")
                deed.add_argument("--label", default="1", help="another label pays another bonus for an assignment")
            words = {"bonus": "--reason", "reject": "--feedback", "approve": "--feedback"}[name]
            deed.add_argument(
                words, dest="words", default="", required=name != "approve", help="words that the worker reads"
            )
        deed = _common(deeds.add_parser("qualify", help="give raters a qualification; made if it isn't there"))
        deed.add_argument("--name", required=True)
        deed.add_argument("--description", required=True)
        deed.add_argument("--value", type=int, default=1)
        deed.add_argument(
            "--rater", nargs="+", default=None, metavar="CODE", help="raters; all approved ones if left out"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Do it, and print what came of it; what waits for another run ends with a non-zero status."""
        channel = _channel(options["study"], options["channel"])
        told = _do(channel, options)
        self.say(json.dumps(told, ensure_ascii=False))
        if told.get("trouble") or told.get("refused"):
            raise CommandError(told.get("trouble") or "MTurk refused some of it; see above")


def _common(parser: CommandParser) -> CommandParser:
    parser.add_argument("study", metavar="STUDY")
    parser.add_argument("--channel", default=None, metavar="NAME", help="needed where the study has several for MTurk")
    return parser


def _channel(slug: str, name: str | None) -> Channel:
    channels = find_study(slug).channels.filter(kind=Channel.Kind.MTURK).select_related("study")
    found = list(channels.filter(name=name) if name else channels)
    if len(found) != 1:
        names = ", ".join(channels.values_list("name", flat=True))
        raise UnknownName(f"name one MTurk channel of study {slug} with --channel; there are: {names or 'none'}")
    return found[0]


def _do(channel: Channel, options: dict[str, Any]) -> dict[str, Any]:
    now, deed = timezone.now(), options["deed"]
    if deed == "sync":
        return sync(channel=channel, at=now)
    return _tally(channel, deed, options, now).as_json


def _tally(channel: Channel, deed: str, options: dict[str, Any], now: Any) -> Tally:
    if deed == "publish":
        return mturk_hits.publish(channel=channel, at=now)
    if deed == "expire":
        return mturk_hits.expire(channel=channel, at=now)
    if deed == "qualify":
        wanted = {name: options[name] for name in ("name", "description", "value")}
        return mturk_actions.qualify(channel=channel, codes=options["rater"], at=now, **wanted)
    ids, words = options["assignment"], options["words"]
    if deed == "approve":
        return mturk_actions.approve(
            channel=channel, assignment_ids=ids, feedback=words, override=options["override"], at=now
        )
    if not ids:
        raise CommandError("name the assignments with --assignment")
    if deed == "reject":
        return mturk_actions.reject(channel=channel, assignment_ids=ids, feedback=words, at=now)
    return mturk_actions.bonus(
        channel=channel,
        assignment_ids=ids,
        amount=options["amount"],
        reason=words,
        label=options["label"],
        at=now,
    )

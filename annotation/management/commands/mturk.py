"""`mturk ACTION STUDY …`. Every action can be retried after a failure."""

import json
from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.utils import timezone

from annotation.management.commands._base import TandemCommand
from annotation.management.commands._channels import add_channel, channel_of
from annotation.models import Channel
from annotation.recruitment.mturk import actions, hits
from annotation.recruitment.mturk.sync import sync


class Command(TandemCommand):
    help = (
        "Offer a study's HITs on Mechanical Turk, and approve, reject and pay work. Prints one JSON document. "
        "Actions can be repeated: nothing is offered, decided or paid twice."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        subparsers = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
        for name, text in (
            ("publish", "offer HITs for all open slots"),
            ("sync", "update HITs and assignments from MTurk"),
            ("expire", "take down every HIT on offer"),
        ):
            add_channel(subparsers.add_parser(name, help=text), "MTurk")
        for name, text in (
            ("approve", "approve assignments, or all without a problem"),
            ("reject", "reject assignments, with a reason that the worker reads"),
            ("bonus", "pay a bonus for assignments"),
        ):
            action = add_channel(subparsers.add_parser(name, help=text), "MTurk")
            action.add_argument(
                "--assignment", nargs="+", default=None, metavar="ID", help="assignments, as MTurk names them"
            )
            if name == "approve":
                action.add_argument("--override", action="store_true", help="also what was rejected, up to 30 days ago")
            if name == "bonus":
                action.add_argument("--amount", required=True, help="dollars and cents, such as 0.75")
                action.add_argument("--label", default="1", help="another label pays another bonus for an assignment")
            words = {"bonus": "--reason", "reject": "--feedback", "approve": "--feedback"}[name]
            action.add_argument(
                words, dest="words", default="", required=name != "approve", help="text that the worker reads"
            )
        action = add_channel(
            subparsers.add_parser("qualify", help="give raters a qualification, created if it does not exist"), "MTurk"
        )
        action.add_argument("--name", required=True)
        action.add_argument("--description", required=True)
        action.add_argument("--value", type=int, default=1)
        action.add_argument(
            "--rater", nargs="+", default=None, metavar="CODE", help="raters; all approved ones if left out"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        channel = channel_of(options, Channel.Kind.MTURK, "MTurk")
        common: dict[str, Any] = {"channel": channel, "at": timezone.now()}
        action, words = options["action"], options.get("words", "")
        ids: Any = options.get("assignment")
        if action in ("reject", "bonus") and not ids:
            raise CommandError("name the assignments with --assignment")
        if action == "sync":
            document = sync(**common)
        elif action == "publish":
            document = vars(hits.publish(**common))
        elif action == "expire":
            document = vars(hits.expire(**common))
        elif action == "qualify":
            arguments = {name: options[name] for name in ("name", "description", "value")}
            document = vars(actions.qualify(codes=options["rater"], **arguments, **common))
        elif action == "approve":
            override = options["override"]
            document = vars(actions.approve(assignment_ids=ids, feedback=words, override=override, **common))
        elif action == "reject":
            document = vars(actions.reject(assignment_ids=ids, feedback=words, **common))
        else:
            paid = {"amount": options["amount"], "reason": words, "label": options["label"]}
            document = vars(actions.bonus(assignment_ids=ids, **paid, **common))
        self.say(json.dumps(document, ensure_ascii=False))
        if document.get("trouble") or document.get("refused"):
            raise CommandError(document.get("trouble") or "MTurk refused some of it; see above")

"""add_judge NAME --method METHOD [--endpoint NAME] [--order random|both|ab|ba] [--family F] [--param key=value] …"""

import argparse
import json
from typing import Any

from django.core.management.base import CommandParser

from annotation.management.commands._base import TandemCommand
from judging.judges import method_names
from judging.models import Judge
from judging.services.endpoints import find_endpoint
from judging.services.judges import add_judge


class Command(TandemCommand):
    """Store an auto-rater: a method with its settings and the endpoint that it asks."""

    help = "Add a judge."

    def add_arguments(self, parser: CommandParser) -> None:
        """Name the options."""
        parser.add_argument("name", metavar="NAME")
        parser.add_argument("--method", required=True, help=", ".join(method_names()))
        parser.add_argument("--endpoint", metavar="NAME", help="which endpoint to ask; none for a baseline")
        parser.add_argument("--order", choices=Judge.Order.values, default=Judge.Order.RANDOM.value)
        parser.add_argument("--family", default="", metavar="F", help="the model's family, as on systems")
        parser.add_argument(
            "--param",
            type=parameter,
            action="append",
            default=[],
            metavar="KEY=VALUE",
            help="sent with each call, as temperature=0.7; the value is JSON or else text; null leaves a default out",
        )
        parser.add_argument("--seed", type=int, help="draws the orders and the samples (default: random, recorded)")

    def handle(self, *args: Any, **options: Any) -> None:
        """Add the judge and say whether it is new."""
        endpoint = find_endpoint(options["endpoint"]) if options["endpoint"] else None
        judge, is_new = add_judge(
            name=options["name"],
            method=options["method"],
            endpoint=endpoint,
            order=options["order"],
            family=options["family"],
            params=dict(options["param"]),
            seed=options["seed"],
        )
        about = f"{judge.method}, order {judge.order}, seed {judge.seed}"
        self.stdout.write(f"judge {judge.name} {'added' if is_new else 'unchanged'}: {about}")


def parameter(text: str) -> tuple[str, Any]:
    """Read key=value; the value is JSON where it can be read as such, else text."""
    key, equals, value = text.partition("=")
    if not key or not equals:
        raise argparse.ArgumentTypeError(f"expected KEY=VALUE, got {text!r}")
    try:
        return key, json.loads(value, parse_constant=refuse_constant)
    except ValueError:
        return key, value


def refuse_constant(name: str) -> None:
    """Refuse NaN and Infinity, which are no JSON and which no endpoint takes."""
    raise argparse.ArgumentTypeError(f"{name} is not a value that can be sent")

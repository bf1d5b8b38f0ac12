"""add_endpoint NAME --base-url URL --model M [--key-env VAR] [prices, limits, headers] [--update]"""

import argparse
from typing import Any

from annotation.core.actions import filled
from annotation.management.commands._base import TandemCommand, argument, arguments_of
from judging.endpoints.forms import EndpointForm, LimitsForm
from judging.endpoints.services import add_endpoint, update_endpoint
from judging.models import Endpoint

RATES = ("requests_per_minute", "tokens_per_minute")


def header(text: str) -> tuple[str, str] | None:
    """Read NAME:VALUE. An empty text stands for no header. Never repeats what was given: it may hold a secret."""
    if not text.strip():
        return None
    name, colon, value = text.partition(":")
    if not colon or not name.strip():
        raise argparse.ArgumentTypeError("expected NAME:VALUE")
    return name.strip(), value.strip()


class Command(TandemCommand):
    help = (
        "Add an OpenAI-compatible endpoint. Its key stays in an environment variable, of which the name is stored. "
        "Prices, limits and headers can be changed with --update; address, model and key can't."
    )

    arguments = (
        argument("name", metavar="NAME"),
        *arguments_of(
            EndpointForm,
            exclude=("name", "headers"),
            base_url={"required": False, "metavar": "URL"},
            model={"required": False, "metavar": "M"},
            timeout_seconds={"flag": "--timeout", "metavar": "SECONDS"},
        ),
        argument(
            "--header",
            type=header,
            action="append",
            metavar="NAME:VALUE",
            help=(
                "sent with each call; the value env:VAR reads a variable (required for secrets); with --update "
                "these replace all headers, and --header '' removes them"
            ),
        ),
        argument("--update", action="store_true", help="change prices, limits, time-out or headers of an endpoint"),
    )

    def handle(self, *args: Any, **options: Any) -> None:
        values = {name: options[name] for name in EndpointForm.base_fields if options.get(name) is not None}
        values |= {name: None for name in RATES if values.get(name) in (0, "0")}  # no limit
        if options["header"] is not None:
            values["headers"] = dict(pair for pair in options["header"] if pair is not None)
        if options["update"]:
            changes = {name: value for name, value in values.items() if name in LimitsForm.base_fields}
            changes = filled(LimitsForm, changes).named_in(changes)
            self.report(update_endpoint(**{**values, **changes}), "updated")
            return
        endpoint, is_new = add_endpoint(**filled(EndpointForm, values).named_in(values))
        self.report(endpoint, "added" if is_new else "unchanged")

    def report(self, endpoint: Endpoint, outcome: str) -> None:
        """Print one line on the endpoint. Its prices only when it has any."""
        self.stdout.write(f"endpoint {endpoint.name} {outcome}: {endpoint.model} at {endpoint.base_url}")
        if endpoint.price_prompt is not None or endpoint.price_completion is not None:
            parts = [
                f"{'unknown' if amount is None else f'{amount.normalize():f}'} {endpoint.currency} {subject}"
                for amount, subject in (
                    (endpoint.price_prompt, "for a million prompt tokens"),
                    (endpoint.price_completion, "for a million tokens written"),
                )
            ]
            self.stdout.write(f"prices: {', '.join(parts)}")

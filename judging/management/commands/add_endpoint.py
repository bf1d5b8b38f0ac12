"""add_endpoint NAME --base-url URL --model M [--key-env VAR] [prices, limits, headers] [--update]"""

import argparse
from typing import Any

from django.core.management.base import CommandError

from annotation.management.commands._base import TandemCommand, argument
from judging.endpoints.services import add_endpoint, update_endpoint
from judging.models import Endpoint

SETTINGS = {
    "timeout": "timeout_seconds",
    "requests_per_minute": "requests_per_minute",
    "tokens_per_minute": "tokens_per_minute",
    "price_prompt": "price_prompt",
    "price_completion": "price_completion",
    "batch_discount": "batch_discount",
    "cached_discount": "cached_discount",
    "currency": "currency",
}


def header(text: str) -> tuple[str, str] | None:
    """Read NAME:VALUE; an empty text stands for no header. Never repeats what was given: it may hold a secret."""
    if not text.strip():
        return None
    name, colon, value = text.partition(":")
    if not colon or not name.strip():
        raise argparse.ArgumentTypeError("expected NAME:VALUE")
    return name.strip(), value.strip()


def limit(text: str) -> int:
    """Read a limit; 0 stands for none."""
    if not text.isdigit():
        raise argparse.ArgumentTypeError(f"expected a whole number, got {text}")
    return int(text)


class Command(TandemCommand):
    help = (
        "Add an OpenAI-compatible endpoint. Its key stays in an environment variable; only the name is stored. Prices, "
        "limits and headers may be changed later, with --update; address, model and key may not: choose another name."
    )

    arguments = (
        argument("name", metavar="NAME"),
        argument("--base-url", metavar="URL", help="for example https://api.openai.com/v1"),
        argument("--model", metavar="M", help="the model's name at that service"),
        argument("--key-env", metavar="VAR", help="environment variable that holds the key"),
        argument("--timeout", type=float, metavar="SECONDS", help="for one call (default: 60)"),
        argument(
            "--header",
            type=header,
            action="append",
            metavar="NAME:VALUE",
            help="sent with each call; env:VAR as the value reads a variable, which secrets must come from; with "
            "--update, these take the place of all headers, and --header '' leaves none",
        ),
        argument("--requests-per-minute", type=limit, metavar="N", help="0: no limit (default)"),
        argument("--tokens-per-minute", type=limit, metavar="N", help="0: no limit (default)"),
        argument("--price-prompt", metavar="X", help="for a million prompt tokens; '' if unknown (default)"),
        argument("--price-completion", metavar="X", help="for a million tokens written"),
        argument(
            "--batch-discount",
            type=float,
            metavar="SHARE",
            help="share of the price that is paid through the provider's Batch API (default: 0.5)",
        ),
        argument(
            "--cached-discount",
            type=float,
            metavar="SHARE",
            help="share of the price that is paid for prompt tokens from the provider's cache of prefixes (default: 1)",
        ),
        argument("--currency", metavar="CODE", help="of the prices (default: USD)"),
        argument("--update", action="store_true", help="change prices, limits, time-out or headers of an endpoint"),
    )

    def handle(self, *args: Any, **options: Any) -> None:
        given = {field: options[name] for name, field in SETTINGS.items() if options[name] is not None}
        for name in ("requests_per_minute", "tokens_per_minute"):
            if name in given:
                given[name] = given[name] or None
        if options["header"] is not None:
            given["headers"] = dict(pair for pair in options["header"] if pair is not None)
        about = {name: options[name] for name in ("base_url", "model", "key_env") if options[name] is not None}
        if options["update"]:
            self.report(update_endpoint(name=options["name"], **about, **given), "updated")
            return
        if missing := [f"--{name.replace('_', '-')}" for name in ("base_url", "model") if name not in about]:
            raise CommandError(f"a new endpoint needs {' and '.join(missing)}; to change one, add --update")
        endpoint, is_new = add_endpoint(name=options["name"], **about, **given)
        self.report(endpoint, "added" if is_new else "unchanged")

    def report(self, endpoint: Endpoint, what: str) -> None:
        """Print one line on the endpoint; its prices only when it has any."""
        self.stdout.write(f"endpoint {endpoint.name} {what}: {endpoint.model} at {endpoint.base_url}")
        if endpoint.price_prompt is not None or endpoint.price_completion is not None:
            parts = [
                f"{'unknown' if amount is None else f'{amount.normalize():f}'} {endpoint.currency} {what}"
                for amount, what in (
                    (endpoint.price_prompt, "for a million prompt tokens"),
                    (endpoint.price_completion, "for a million tokens written"),
                )
            ]
            self.stdout.write(f"prices: {', '.join(parts)}")

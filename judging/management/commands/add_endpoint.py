"""add_endpoint NAME --base-url URL --model M [--key-env VAR] [--timeout SECONDS]"""

from typing import Any

from django.core.management.base import CommandParser

from annotation.management.commands._base import TandemCommand
from judging.services.endpoints import add_endpoint


class Command(TandemCommand):
    """Store an OpenAI-compatible service and the model to ask there."""

    help = "Add an OpenAI-compatible endpoint. Its key stays in an environment variable; only the name is stored."

    def add_arguments(self, parser: CommandParser) -> None:
        """Name the options."""
        parser.add_argument("name", metavar="NAME")
        parser.add_argument("--base-url", required=True, metavar="URL", help="for example https://api.openai.com/v1")
        parser.add_argument("--model", required=True, metavar="M", help="the model's name at that service")
        parser.add_argument("--key-env", default="", metavar="VAR", help="environment variable that holds the key")
        parser.add_argument("--timeout", type=float, default=60, metavar="SECONDS", help="for one call (default: 60)")

    def handle(self, *args: Any, **options: Any) -> None:
        """Add the endpoint and say whether it is new."""
        endpoint, is_new = add_endpoint(
            name=options["name"],
            base_url=options["base_url"],
            model=options["model"],
            key_env=options["key_env"],
            timeout_seconds=options["timeout"],
        )
        where = f"{endpoint.model} at {endpoint.base_url}"
        self.stdout.write(f"endpoint {endpoint.name} {'added' if is_new else 'unchanged'}: {where}")

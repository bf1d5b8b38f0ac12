"""test_endpoint NAME [--format json|text]"""

from typing import Any

from django.core.management.base import CommandError

from annotation.management.commands._base import TandemCommand, argument
from judging.endpoints.probing import probe_endpoint
from judging.endpoints.services import find_endpoint, shown_features, supported_by

ANSWERS = {True: "yes", False: "no", None: "unknown"}


class Command(TandemCommand):
    help = "Test what an endpoint supports, with about ten short calls."

    arguments = (argument("name", metavar="NAME"), argument("--format", choices=["text", "json"], default="text"))

    def handle(self, *args: Any, **options: Any) -> None:
        endpoint = probe_endpoint(find_endpoint(options["name"]))
        found = shown_features(endpoint)
        lines = [
            f"{feature.name}: {ANSWERS[feature.works]}{f' ({feature.why})' if feature.why else ''}"
            for feature in supported_by(endpoint)
        ]
        if found["latency_ms"] is not None:
            fastest, slowest = found["latency_ms"], found["max_latency_ms"]
            lines.append(f"latency: {fastest:.0f} ms median, {slowest:.0f} ms at most")
        self.say_result(lines, {"endpoint": endpoint.name, **found}, options)
        if not found["chat"]:
            raise CommandError(f"endpoint {endpoint.name} can't be asked: {found['why']['chat']}")

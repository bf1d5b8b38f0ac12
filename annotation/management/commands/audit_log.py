"""audit_log [--since TIME]"""

import json
from datetime import UTC, datetime
from typing import Any

from annotation.management.commands._base import TandemCommand, argument
from annotation.members.audit import entries


def _time(text: str) -> datetime:
    moment = datetime.fromisoformat(text)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


class Command(TandemCommand):
    is_audited = False  # only reads
    help = (
        "Print the changes that researchers and admins made on pages and by the API: one JSON object per line, "
        "earliest first."
    )

    arguments = (argument("--since", type=_time, help="ISO 8601, as 2026-05-01 or 2026-05-01T12:00; UTC"),)

    def handle(self, *args: Any, **options: Any) -> None:
        for entry in entries(since=options["since"]):
            self.say(json.dumps(entry, ensure_ascii=False))

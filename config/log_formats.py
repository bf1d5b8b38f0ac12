"""The log as JSON, a line for each record, for programs that collect logs."""

import json
import logging
from datetime import UTC, datetime

EXTRA = ("request_id", "method", "view", "status", "seconds")


class JsonLines(logging.Formatter):
    """Writes a record, with its request and traceback, as a JSON object."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        line = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
            **{name: value for name in EXTRA if (value := getattr(record, name, None)) is not None},
        }
        if error := record.exc_text or (record.exc_info and self.formatException(record.exc_info)):
            line["error"] = error
        return json.dumps(line, ensure_ascii=False, default=str)

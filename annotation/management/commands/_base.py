"""What Tandem's commands share: domain errors become one clear message, files are read whole."""

import os
import sys
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from annotation.errors import AnnotationError

ENDED_BY_PIPE = 141  # as a shell counts it: 128 and the signal's number


class TandemCommand(BaseCommand):
    """A command whose domain errors end it with their own words and a non-zero status."""

    requires_migrations_checks = True

    def execute(self, *args: Any, **options: Any) -> str | None:
        """Run; an error that a user can put right is shown without a stack trace."""
        try:
            return super().execute(*args, **options)
        except AnnotationError as error:
            raise CommandError(str(error)) from error
        except BrokenPipeError:
            # Whoever reads has had enough, as `| head`. What is left in the buffer goes nowhere, without a word.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            sys.exit(ENDED_BY_PIPE)

    def say(self, text: str) -> None:
        """Print a line."""
        self.stdout.write(text)


def read_file(path: str) -> tuple[bytes, str]:
    """Return a file's bytes and name.

    Raises: CommandError when it can't be read.
    """
    try:
        return Path(path).read_bytes(), Path(path).name
    except OSError as error:
        raise CommandError(f"{path} can't be read: {error.strerror}") from None

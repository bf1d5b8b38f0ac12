"""What Tandem's commands share: domain errors become one clear message, files are read whole."""

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from annotation.errors import AnnotationError


class TandemCommand(BaseCommand):
    """A command whose domain errors end it with their own words and a non-zero status."""

    requires_migrations_checks = True

    def execute(self, *args: Any, **options: Any) -> str | None:
        """Run; an error that a user can put right is shown without a stack trace."""
        try:
            return super().execute(*args, **options)
        except AnnotationError as error:
            raise CommandError(str(error)) from error

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

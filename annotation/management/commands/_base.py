"""Shared by all commands: errors as messages, reading files, and documents as JSON."""

import json
import os
import sys
from argparse import ArgumentTypeError
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any, TypeVar

from django import forms
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import OperationalError, ProgrammingError

from annotation.core.actions import described, filled, json_shape, static_choices
from annotation.core.errors import AnnotationError
from annotation.core.files.file_bounds import FOR_COMMANDS, MOST_BYTES
from annotation.core.files.lines import FileData
from annotation.core.files.sent_files import Joined, join, read_sent
from annotation.core.reasons import Reason
from annotation.core.system_checks import check_version_of_database, database_problems, refuse_on, unapplied_migrations
from annotation.core.tables import numbers_text
from annotation.members.audit import audited_command
from annotation.models import Study
from annotation.studies.services import find_study

ENDED_BY_PIPE = 141  # as a shell counts it: 128 and the signal's number


F = TypeVar("F", bound=forms.BaseForm)
Argument = Callable[[Any], object]  # adds itself to a parser, or to a group of one


class TandemCommand(BaseCommand):
    """A command that declares its arguments, and ends with a domain error's message and a non-zero status."""

    # These check the code, not what a command is given; `check` and the tests run them. They load all pages: a second.
    requires_system_checks = ()
    requires_migrations_checks = True
    arguments: Sequence[Argument] = ()
    is_audited = True  # off for one that only reads, or serves until it is stopped

    def add_arguments(self, parser: CommandParser) -> None:
        _add_all(parser, self.arguments)

    def execute(self, *args: Any, **options: Any) -> str | None:
        """Run, and add a row to the audit log. Show domain errors without a stack trace."""
        try:
            if not self.is_audited:
                return super().execute(*args, **options)
            with audited_command(type(self).__module__.rpartition(".")[2]):
                return super().execute(*args, **options)
        except AnnotationError as error:
            raise CommandError(str(error)) from error
        except (OperationalError, ProgrammingError):
            refuse_on(check_version_of_database(["default"]) or database_problems())
            raise
        except BrokenPipeError:
            # The reader, such as `head`, has closed the pipe. Discard the rest of the buffer silently.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            sys.exit(ENDED_BY_PIPE)

    def check_migrations(self) -> None:
        """Name migrations that are missing beside what is printed, which may be a document."""
        if not unapplied_migrations():
            return
        printed, self.stdout = self.stdout, self.stderr
        try:
            super().check_migrations()
        finally:
            self.stdout = printed

    def say(self, text: str | Reason) -> None:
        """Print a line."""
        self.stdout.write(str(text))

    def say_json(self, document: Any) -> None:
        """Print a JSON document, with money as text."""
        self.say(json.dumps(document, ensure_ascii=False, indent=2, default=_as_text))

    def say_numbers(
        self, numbers: dict[str, Any], form: str, as_text: Callable[[dict[str, Any]], str] = numbers_text
    ) -> None:
        """Print numbers as JSON, or as text for people."""
        as_json = form == "json"
        self.say(json.dumps(numbers, ensure_ascii=False, allow_nan=False, indent=1) if as_json else as_text(numbers))

    def say_document(self, document: Mapping[str, Any], options: Mapping[str, Any], *more: str) -> None:
        """Print a document as text with further lines, or as JSON where `--format json` asks for it."""
        self.say_result([numbers_text(document), *more], document, options)

    def say_result(self, lines: Iterable[str], document: Any, options: Mapping[str, Any]) -> None:
        """Print lines, or the same as JSON where `--format json` asks for it."""
        if options["format"] == "json":
            self.say_json(document)
            return
        for line in lines:
            self.say(line)


class StudyCommand(TandemCommand):
    """A command about one study, which its first argument names."""

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("study", metavar="STUDY", help="the study's short name")
        super().add_arguments(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        self.run(find_study(options["study"]), options)

    def run(self, study: Study, options: dict[str, Any]) -> None:
        """Do what the command is for."""
        raise NotImplementedError


def argument(*names: str, **settings: Any) -> Argument:
    """Declare an argument, with the parameters of `ArgumentParser.add_argument`."""
    return lambda parser: parser.add_argument(*names, **settings)


def arguments_of(
    form: "type[forms.Form | forms.ModelForm[Any]]",
    /,
    *,
    only: Collection[str] = (),
    exclude: Collection[str] = (),
    **changes: Mapping[str, Any],
) -> list[Argument]:
    """Declare an option for each field of a form, which checks the values (`filled_by`).

    changes : by a field's name, another `flag`, or parameters of `ArgumentParser.add_argument`
    """
    fields = form.base_fields
    names = only or [name for name in fields if name not in exclude]
    return [_option(name, fields[name], **changes.get(name, {})) for name in names]


def _option(name: str, field: forms.Field, *, flag: str = "", **changes: Any) -> Argument:
    flag = flag or f"--{name.replace('_', '-')}"
    default = "the study’s" if callable(field.initial) else field.initial or field.widget.attrs.get("placeholder")
    default = ", ".join(default) if isinstance(default, list) else default
    note = "" if default in (None, "", False) or changes.get("required") else f" (default: {default})"
    settings: dict[str, Any] = {"dest": name, "help": f"{described(field)}{note}".replace("%", "%%")}
    shape = json_shape(field)
    if shape is bool:
        return argument(flag, **{"action": "store_true", "default": None, **settings, **changes})
    settings["metavar"] = flag.strip("-").replace("-", "_").upper()
    if values := static_choices(field):
        settings["metavar"] = f"{{{','.join(values)}}}"
    if shape is list:
        settings["nargs"] = "+"
    return argument(flag, **{"required": field.required and field.initial is None, **settings, **changes})


def filled_by(form: type[F], options: Mapping[str, Any], **context: Any) -> F:
    """Return a form filled by a command's options, and valid.

    Raises: BadFields.
    """
    return filled(form, {name: value for name, value in options.items() if value is not None}, **context)


def whole(minimum: int) -> Callable[[str], int]:
    """Return the type of an argument that is a whole number, `minimum` or more."""

    def read(text: str) -> int:
        if (number := int(text)) < minimum:
            raise ArgumentTypeError(f"must be {minimum} or more, got {number}")
        return number

    read.__name__ = "whole number"  # argparse names it
    return read


SEED = argument("--seed", type=whole(0), default=0, help="seed of draws and resamples (default: 0)")


def group(title: str, *arguments: Argument) -> Argument:
    """Declare arguments that stand under a heading of their own in the help."""
    return lambda parser: _add_all(parser.add_argument_group(title), arguments)


def one_of(*arguments: Argument, required: bool = False) -> Argument:
    """Declare arguments of which one is given, or if not `required`, at most one."""
    return lambda parser: _add_all(parser.add_mutually_exclusive_group(required=required), arguments)


def read_file(path: str) -> tuple[bytes, str]:
    """Return a file's bytes and name. Raises: as `find_file`."""
    data, name = find_file(path)
    return data if isinstance(data, bytes) else data.read_bytes(), name


def find_file(path: str) -> tuple[FileData, str]:
    """Return a file, or its rows as JSON Lines if it is of Parquet, or those of a folder's data files, and its name.

    Raises: AnnotationError when it can't be read, or is too large; BadFile.
    """
    joined = sent_files([path])
    return joined.data, joined.name


@contextmanager
def read_files(paths: Sequence[str]) -> Iterator[tuple[FileData, str]]:
    """Give the data and name of one or several files, or of a folder. Bad lines have the numbers of their own files.

    Raises: AnnotationError when they can't be read, or are too large; BadFile.
    """
    joined = sent_files(paths)
    with joined.own_lines():
        yield joined.data, joined.name


def sent_files(paths: Sequence[str]) -> Joined:
    """Read one or several files, or a folder. Raises: as `read_files`."""
    if len(paths) == 1:
        joined = read_sent(Path(paths[0]), paths[0], limit=MOST_BYTES, bound=FOR_COMMANDS)
    else:
        joined = join([(Path(path), path) for path in paths], paths[0], limit=MOST_BYTES, bound=FOR_COMMANDS)
    return replace(joined, name=Path(paths[0]).name)


def _add_all(parser: Any, arguments: Iterable[Argument]) -> None:
    for add in arguments:
        add(parser)


def _as_text(value: Any) -> str:
    if isinstance(value, Decimal):
        return str(value)
    raise TypeError(f"{value!r} has no place in JSON")

"""Adding researchers' prompts as versions, reading them from a folder, and finding them by name."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import QuerySet

from annotation.core.errors import AnnotationError
from annotation.models import ResearchGroup
from annotation.studies.services import validate
from judging.core.errors import BadPrompt, UnknownJudge
from judging.models import PromptFile
from judging.wordings.checks import problems_of
from judging.wordings.prompt_text import LONGEST_FILE, PromptText, read_prompt

VERSIONED = re.compile(r"(?P<name>[-\w]+)\.v(?P<version>\d{1,6})", re.ASCII)


@dataclass
class FolderReading:
    """The result of reading the folder: new prompts, and problems by file."""

    added: list[PromptFile] = field(default_factory=list)
    problems: dict[str, list[str]] = field(default_factory=dict)


@transaction.atomic
def add_prompt(
    *, prompt: PromptText, name: str = "", parser: str = "", group: ResearchGroup | None = None
) -> tuple[PromptFile, bool]:
    """Store a prompt for a group or for all. Return its version and whether that is new.

    Versions are never changed: a text or parser that differs from the latest version's becomes the next version.
    `name` and `parser` override the head of the file.
    Raises: BadPrompt with all its problems, or if the name is another group's.
    """
    name, parser = name or prompt.name, parser or prompt.parser
    problems = problems_of(prompt.text, parser, form=prompt.form)
    if not name:
        problems.insert(0, "It has no name: give one, or write it at the head of the file (name: …).")
    elif re.fullmatch(r"[-\w]{1,80}", name, re.ASCII) is None:
        problems.insert(0, "The name may hold up to 80 letters, digits, dashes and underscores, and nothing else.")
    if problems:
        raise BadPrompt(problems)
    texts = {"text": prompt.text, "system_prompt": prompt.system}
    fields: dict[str, Any] = {"group": group, "parser": parser, "form": prompt.form, **texts}
    while True:
        latest = PromptFile.objects.filter(name=name).order_by("version").last()
        if latest is not None and latest.group != fields["group"]:
            raise BadPrompt([f"The name {name} is taken. Please choose another."])
        if latest is not None and all(getattr(latest, field) == value for field, value in fields.items()):
            return latest, False
        version = latest.version + 1 if latest else 1
        validate(PromptFile(name=name, version=version, **fields))
        added, is_new = PromptFile.objects.get_or_create(name=name, version=version, defaults=fields)
        if is_new:
            return added, True
        # Another process added this version: try again.


def read_folder() -> FolderReading:
    """Add the files in the folder PROMPT_FOLDER as prompts for all groups, in a new version if they changed."""
    reading = FolderReading()
    for file in _files(reading):
        try:
            if file.stat().st_size > LONGEST_FILE:
                raise BadPrompt([f"The file is larger than {LONGEST_FILE:,} bytes."])
            prompt_text = read_prompt(file.read_bytes())
            prompt, is_new = add_prompt(prompt=prompt_text, name=prompt_text.name or file.stem)
        except BadPrompt as error:
            reading.problems[file.name] = error.problems
        except AnnotationError as error:
            reading.problems[file.name] = [str(error)]
        except OSError as error:
            reading.problems[file.name] = [f"It can't be read: {error.strerror}"]
        else:
            reading.added += [prompt] if is_new else []
    return reading


def _files(reading: FolderReading) -> Iterator[Path]:
    if not settings.PROMPT_FOLDER:
        return
    folder = Path(settings.PROMPT_FOLDER)
    if not folder.is_dir():
        reading.problems["PROMPT_FOLDER"] = ["There is no such folder."]
        return
    yield from sorted(file for file in folder.glob("*.txt") if file.is_file())


def find_prompt(name: str, prompts: QuerySet[PromptFile] | None = None) -> PromptFile:
    """Return a prompt by name, in the latest version, or by name and version (`mine.v2`, or `mine:2`).

    prompts : those among which it is searched; `None`: all
    Raises: UnknownJudge listing those that exist; BadPrompt if the folder's file of this name is invalid.
    """
    reading = read_folder()
    for file, problems in reading.problems.items():
        if Path(file).stem == name:
            raise BadPrompt([f"{file}: {problem}" for problem in problems])
    prompts = PromptFile.objects.all() if prompts is None else prompts
    plain, colon, number = name.partition(":")
    if matched := VERSIONED.fullmatch(f"{plain}.v{number.removeprefix('v')}" if colon else name):
        prompt = prompts.filter(name=matched["name"], version=int(matched["version"])).first()
    else:
        prompt = prompts.filter(name=name).order_by("version").last()
    if prompt is None:
        names = sorted({str(prompt) for prompt in prompts.only("name", "version")})
        raise UnknownJudge(f"there is no prompt file {name}; there are: {', '.join(names) or 'none yet'}")
    return prompt

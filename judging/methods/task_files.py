"""Task files: how the texts of a task are called, what makes one better or worse, and examples."""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from string import Template
from typing import Any

from judging.core.errors import BadSettings
from judging.methods.base import Presentation
from judging.methods.prompts import FOLDER
from judging.methods.sc2.record import TableRow, format_table

# The current version of each task. A new wording is a new file with the next number.
TASKS: Mapping[str, str] = {
    "summarization": "summarization.v1.toml",
    "summarization-concise": "summarization-concise.v1.toml",
    "dialogue": "dialogue.v1.toml",
    "harmless": "harmless.v1.toml",
    "ranking": "ranking.v1.toml",
    "translation": "translation.v1.toml",
    "instruction": "instruction.v1.toml",
    "chat": "chat.v1.toml",
    "ordering": "ordering.v1.toml",
    "free": "free.v1.toml",
}
# The wording in which a study's further questions are asked, whatever its kind. No kind of study has it.
CRITERION = "criterion"
FILES: Mapping[str, str] = {**TASKS, CRITERION: "criterion.v1.toml"}


@dataclass(frozen=True)
class TaskQuestion:
    """The wording of a task's question: which text is better, or, negated, which one is worse.

    intro     : what the judge is doing
    criterion : what it has to decide
    choice    : the label of the verdict line
    chosen    : how the chosen text is referred to
    quality   : what a single text is rated on, where more means chosen
    """

    intro: str
    criterion: str
    choice: str
    chosen: str
    quality: str


@dataclass(frozen=True)
class Example:
    """An example pair with its answer. The comparison is worded for both questions.

    better : the letter of the better text
    table  : rows of its comparison table, if it has one
    """

    source: str
    first: str
    second: str
    comparison: str
    better: str
    question: str = ""
    table: Sequence[TableRow] = ()

    @property
    def texts(self) -> dict[str, str]:
        """What it shows between fences, by placeholder."""
        table = {"table": format_table(self.table)} if self.table else {}
        return {"source": self.source, "first": self.first, "second": self.second, **table}

    def answer(self, *, negated: bool) -> str:
        """Return the letter that answers the plain or the negated question."""
        return {"A": "B", "B": "A"}[self.better] if negated else self.better


@dataclass(frozen=True)
class Task:
    """The wording of one task.

    label     : heading of each text, before its letter
    alone     : what the judge does with a single text
    faults    : what an assessment of a single text should point out
    answering : asks the judge for a reference answer; `reference_label` is its heading
    speakers  : role → name in transcripts of conversations, where the task has its own
    """

    version: str
    source_label: str
    label: str
    one: str
    many: str
    alone: str
    faults: str
    answering: str
    reference_label: str
    rules: tuple[str, ...]
    aspects: tuple[str, ...]
    plain: TaskQuestion
    negated: TaskQuestion
    examples: tuple[Example, ...]
    speakers: Mapping[str, str] = field(default_factory=dict)

    def asked(self, negated: bool) -> TaskQuestion:
        """Return the wording of one of the two questions."""
        return self.negated if negated else self.plain

    def words(self, *, question: str, negated: bool) -> dict[str, str]:
        """Return the values of a prompt's placeholders, some of which contain the study's question."""
        own = ("source_label", "label", "one", "many", "alone", "faults", "answering", "reference_label")
        words_of_task = {name: getattr(self, name) for name in own} | vars(self.asked(negated))
        words_of_task["rules"] = numbered("Heed these rules:", self.rules)
        filled = {name: Template(text).substitute(question=question) for name, text in words_of_task.items()}
        return {**filled, "question": question}


def numbered(opening: str, entries: Sequence[str]) -> str:
    """Format a numbered list under an opening line, or an empty string without entries."""
    lines = [f"{number}. {entry}" for number, entry in enumerate(entries, start=1)]
    return "\n".join([opening, *lines]) if lines else ""


def bulleted(entries: Sequence[str]) -> str:
    """Format a list with dashes."""
    return "\n".join(f"- {entry}" for entry in entries)


def task_of(kind: str) -> str:
    """Return the task for studies of a kind: of the same name, or else the free task."""
    return kind if kind in TASKS else "free"


def words_for(presentation: Presentation) -> dict[str, str]:
    """Return the words of a presentation's task for the question that is asked about it."""
    return dict(_words(presentation.task, presentation.question, presentation.negated))


@lru_cache(maxsize=256)
def _words(task: str, question: str, negated: bool) -> Mapping[str, str]:
    return find_task(task).words(question=question, negated=negated)


def find_task(name: str) -> Task:
    """Return the wording of a task.

    Raises: BadSettings if there is none of this name.
    """
    if name not in FILES:
        raise BadSettings(f"there is no wording for {name}; there are {', '.join(TASKS)}")
    return _load(FILES[name])


@cache
def _load(file_name: str) -> Task:
    """Load a task's file. Missing or unknown keys raise TypeError."""
    data: dict[str, Any] = tomllib.loads((FOLDER / "tasks" / file_name).read_text(encoding="utf-8"))
    intro = data.pop("intro")
    return Task(
        version=file_name.removesuffix(".toml"),
        rules=tuple(data.pop("rules")),
        aspects=tuple(data.pop("aspects")),
        plain=TaskQuestion(intro=intro, **data.pop("plain")),
        negated=TaskQuestion(intro=intro, **data.pop("negated")),
        examples=tuple(Example(**example) for example in data.pop("examples")),
        **data,
    )

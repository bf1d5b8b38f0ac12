"""What a judging method is: how a pair is put to it and how its verdict is read.

Calling, caching, order-swapping and retries belong to `judging.services`, once for all methods.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar

from analysis.types import Verdict
from judging.errors import BadSettings, UnknownJudge
from judging.judges.prompts import Prompt, load_prompt


@dataclass(frozen=True)
class Presentation:
    """One pair as a judge meets it: two texts in the order shown, and no word about who wrote them.

    identity : names the pair and the order in a way that outlives the database; feeds seeded decisions only
    """

    task_kind: str
    question: str
    source: str
    first: str
    second: str
    identity: str


class Method(ABC):
    """A way of judging. Its verdicts are in screen order: `Verdict.A` is the text shown first."""

    name: ClassVar[str]
    needs_endpoint: ClassVar[bool]
    parser_version: ClassVar[str]

    @abstractmethod
    def prompt_version(self, task_kind: str) -> str:
        """Name the prompt that a study of this kind gets; empty for a method without one."""


class Baseline(Method):
    """Decides by itself, without any endpoint: a control that real judges are measured against."""

    needs_endpoint = False

    @abstractmethod
    def decide(self, shown: Presentation, *, seed: int) -> Verdict:
        """Return the verdict on one presentation; the same for the same arguments."""

    def prompt_version(self, task_kind: str) -> str:
        """A baseline reads no prompt."""
        return ""


class PromptedMethod(Method):
    """Asks a model once: a prompt file per task kind, the verdicts on offer, a parser."""

    needs_endpoint = True
    prompts: ClassVar[Mapping[str, str]]
    offered: ClassVar[Mapping[str, Verdict]]
    default_params: ClassVar[Mapping[str, Any]] = {"temperature": 0}

    def prompt(self, task_kind: str) -> Prompt:
        """Return the prompt of a task kind.

        Raises: BadSettings if the method has none for it.
        """
        if task_kind not in self.prompts:
            raise BadSettings(f"method {self.name} has no prompt for {task_kind}; it has {', '.join(self.prompts)}")
        return load_prompt(self.prompts[task_kind])

    def prompt_version(self, task_kind: str) -> str:
        """Name the prompt file without its ending, as `direct.summarization.v1`."""
        return self.prompt(task_kind).version

    def messages(self, shown: Presentation) -> list[dict[str, str]]:
        """Return the chat messages that put one presentation to the model."""
        text = self.prompt(shown.task_kind).render(
            question=shown.question, source=shown.source, first=shown.first, second=shown.second
        )
        return [{"role": "user", "content": text}]

    @abstractmethod
    def parse(self, completion: str) -> Verdict:
        """Read the verdict of a completion, in screen order.

        Raises: UnparsedVerdict if it has none that was on offer.
        """

    @abstractmethod
    def rationale(self, completion: str) -> str:
        """Return what the completion says in support of its verdict."""


M = TypeVar("M", bound=Method)
_METHODS: dict[str, Method] = {}


def register(cls: type[M]) -> type[M]:
    """Make a method available under its name; for use as a class decorator."""
    if cls.name in _METHODS:
        raise BadSettings(f"two methods are named {cls.name}")
    _METHODS[cls.name] = cls()
    return cls


def method_names() -> list[str]:
    """List the registered methods."""
    return sorted(_METHODS)


def find_method(name: str) -> Method:
    """Return the method of this name.

    Raises: UnknownJudge listing those that exist.
    """
    if name not in _METHODS:
        raise UnknownJudge(f"there is no judging method {name}; there are {', '.join(method_names())}")
    return _METHODS[name]

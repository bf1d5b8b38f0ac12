"""What a judging method is: the questions that it asks about a pair, one after the other, and how it reads the answers.

A method says *what* to ask. Calling, caching, retries, the order of the two texts, repeats and counting belong to
`judging.services`, once for all methods.
"""

import hashlib
import random
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, TypeVar

from analysis.types import Verdict
from judging.errors import BadSettings, UnknownJudge


@dataclass(frozen=True)
class Presentation:
    """One pair as a judge meets it: two texts in the order shown, and no word about who wrote them.

    task      : which task's wording is used; usually the kind of the study
    negated   : the question is which text is the *worse* one
    reference : an answer given with the instance, for judges that are guided by one; often empty
    identity  : names the pair and the order in a way that outlives the database; feeds seeded decisions only
    """

    task: str
    question: str
    source: str
    first: str
    second: str
    identity: str
    negated: bool = False
    reference: str = ""


@dataclass(frozen=True)
class Setting:
    """What was set up on the judge that asks: its seed, its options, and a wording of its own, if any.

    options : the judge's parameters that the method itself heeds (`Method.options`); they are not sent
    wording : text of a researcher's prompt file, or empty for the method's own
    wording_parser : the name of the parser that reads what it asks for
    schema  : the endpoint keeps to a JSON schema, as its last test found
    """

    seed: int = 0
    options: Mapping[str, Any] = field(default_factory=dict)
    wording: str = ""
    wording_version: str = ""
    wording_parser: str = ""
    schema: bool = False

    def rng(self, *about: object) -> random.Random:
        """Return a generator of random numbers that depends on the judge's seed and on what it is about."""
        digest = hashlib.sha256("\x00".join(map(str, (self.seed, *about))).encode("utf-8", "surrogatepass")).digest()
        return random.Random(digest)


@dataclass(frozen=True)
class Reply:
    """One answer of an endpoint; `response` is the whole JSON of it: log-probabilities and function calls are there."""

    text: str
    finish_reason: str = ""
    response: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Call:
    """One question to the model.

    kind     : what it is for: `verdict`, `critique`, `score`, `metrics`, `reference`, …; counted by it
    read     : makes a value of the answer, or raises UnparsedVerdict: then it is asked again, up to a limit
    params   : go into the request body under the judge's own parameters, as `{"logprobs": True}`
    draw     : which of several samples of the same question this is, from 0
    reusable : depends on one text or one instance only: made once for every pair, order and judge that sends it, and
               anew for a repeat, which would else agree with the first by construction
    optional : an answer that can't be read is handed on as `None` and does not end the cell
    attempts : how often it is asked, at most, until an answer can be read; `None`: as often as any
    example  : an answer as it might be, for estimates of what comes after it; not needed where any text would do
    made     : what the procedure has made so far and is to be kept, even if this question gets no verdict
    """

    kind: str
    messages: Sequence[Mapping[str, str]]
    read: Callable[[Reply], Any]
    params: Mapping[str, Any] = field(default_factory=dict)
    draw: int = 0
    reusable: bool = False
    optional: bool = False
    attempts: int | None = None
    example: str = ""
    made: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class Outcome:
    """What a method made of the answers, in screen order: `Verdict.A` is the text shown first, and preferred.

    Also for a negated question: the method turns "the first is worse" into `Verdict.B`.

    p_second                  : probability that the second is preferred, where the endpoint gave log-probabilities
    score_first, score_second : what a pointwise judge gave each text
    made                      : what was made on the way and is to be kept, in screen order, as a comparison table's record
    """

    verdict: Verdict
    rationale: str = ""
    p_second: float | None = None
    score_first: float | None = None
    score_second: float | None = None
    made: Mapping[str, Any] | None = None


# Yields the calls that can be made side by side, is sent their values in the same order, and returns the outcome.
Procedure = Generator[Sequence[Call], list[Any], Outcome]


class Method(ABC):
    """A way of judging."""

    name: ClassVar[str]
    needs_endpoint: ClassVar[bool]
    parser_version: ClassVar[str]
    options: ClassVar[Mapping[str, Any]] = {}  # names and defaults of the parameters that the method itself heeds
    gives_probability: ClassVar[bool] = False  # always, without the option `logprobs`

    @abstractmethod
    def prompt_version(self, task: str, setting: Setting) -> str:
        """Name the wording that a pair of this task gets; empty for a method without one.

        Raises: BadSettings if the method has none for it.
        """

    def check(self, task: str, setting: Setting) -> None:
        """Refuse, before anything is asked, a task or options that the method can't judge with.

        Raises: BadSettings
        """
        self.prompt_version(task, setting)


class Baseline(Method):
    """Decides by itself, without any endpoint: a control that real judges are measured against."""

    needs_endpoint = False

    @abstractmethod
    def decide(self, shown: Presentation, *, seed: int) -> Verdict:
        """Return the preferred text of one presentation; the same for the same arguments."""

    def prompt_version(self, task: str, setting: Setting) -> str:
        """A baseline reads no prompt."""
        return ""


class AskingMethod(Method):
    """Asks a model, in one call or in several that build on each other."""

    needs_endpoint = True
    default_params: ClassVar[Mapping[str, Any]] = {"temperature": 0}

    @abstractmethod
    def ask(self, shown: Presentation, setting: Setting) -> Procedure:
        """Judge one presentation: yield the calls to make, take their values, return the outcome.

        The same arguments and answers always give the same calls: a stopped run is taken up by going through the
        procedure again with the stored answers.
        Raises: UnparsedVerdict if the answers, each readable, give no verdict together.
        """


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

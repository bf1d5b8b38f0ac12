"""The interface of judging methods: the calls that a method makes about a pair, and how it reads the replies.

A method only says *what* to ask. Calling, caching, retries, the order of the texts, repeats and counting belong to
`judging.calls` and `judging.runs`.
"""

import hashlib
import random
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, TypeVar

from analysis.types import Verdict
from judging.core.errors import BadSettings, UnknownJudge
from judging.methods.sc2.record import TableRow

SCHEMA_PARAM = "response_format"
# Also of Anthropic, Gemini and Mistral.
CUT_OFF = frozenset({"length", "max_tokens", "model_length", "max_output_tokens"})


@dataclass(frozen=True)
class Asked:
    """One of several questions that are asked in one call: the task whose wording it has, and its words."""

    task: str
    question: str


@dataclass(frozen=True)
class Presentation:
    """One pair as shown to a judge: two texts in order, without their systems.

    task      : the task whose wording is used, usually the study's kind
    negated   : the question is which text is the *worse* one
    reference : a reference answer of the instance; often empty
    table     : rows of a stored comparison table of the pair, in screen order; None without one
    identity  : names pair and order independently of the database; used for seeded decisions only
    together  : the questions that are asked in one call, of which `place` is this one; empty where it is asked by itself
    """

    task: str
    question: str
    source: str
    first: str
    second: str
    identity: str
    negated: bool = False
    reference: str = ""
    table: Sequence[TableRow] | None = None
    together: tuple[Asked, ...] = ()
    place: int = 0

    @property
    def texts(self) -> dict[str, str]:
        """The texts that a prompt may show, by placeholder."""
        return {"source": self.source, "first": self.first, "second": self.second, "reference": self.reference}


@dataclass(frozen=True)
class Setting:
    """The settings of a judge: its seed, its options, and a prompt of its own, if any.

    options : the judge's parameters that the method uses (`Method.options`); they are not sent
    wording : text of a researcher's prompt file; empty for the method's own
    wording_parser : name of its parser
    schema, verdict_schema : the endpoint of tables, that of verdicts, supports JSON schemas, by its last test
    system_prompt : the judge's own, sent with every call; part of the prompt's version
    table_variant : variant of the stored tables that the judge is shown, if it makes none
    texts_first : calls about the same texts begin with these texts, under the same fence
    examples : those that a method shows in place of the task's, once it has made their tables
    """

    seed: int = 0
    options: Mapping[str, Any] = field(default_factory=dict)
    wording: str = ""
    wording_version: str = ""
    wording_parser: str = ""
    schema: bool = False
    verdict_schema: bool = False
    system_prompt: str = ""
    table_variant: str = ""
    texts_first: bool = True
    examples: Sequence[Any] = ()

    def without_schema(self) -> "Setting":
        """Return the settings of verdicts asked for in words."""
        return replace(self, options={**self.options, "verdict_schema": False})

    def rng(self, *parts: object) -> random.Random:
        """Return a random generator seeded by the judge's seed and `parts`."""
        digest = hashlib.sha256("\x00".join(map(str, (self.seed, *parts))).encode("utf-8", "surrogatepass")).digest()
        return random.Random(digest)


@dataclass(frozen=True)
class Reply:
    """One answer of an endpoint. `response` is its whole JSON, with log-probabilities and function calls."""

    text: str
    finish_reason: str = ""
    response: Mapping[str, Any] = field(default_factory=dict)

    @property
    def is_cut_off(self) -> bool:
        """Tell whether the limit on its tokens ended the answer."""
        return self.finish_reason.lower() in CUT_OFF


@dataclass(frozen=True)
class Call:
    """One call to the model.

    kind     : its purpose, for counts: `verdict`, `critique`, `score`, `metrics`, `reference`, …
    read     : reads a reply into a value, or raises UnparsedVerdict: then it is sent again, up to a limit
    params   : request parameters, which the judge's own override, such as `{"logprobs": True}`
    draw     : number of the sample, from 0, among several of the same request
    reusable : depends on one text or instance only: shared by all pairs, orders and judges that send it, but not by
               repeats, which would otherwise agree by construction
    optional : an unreadable reply becomes `None` and does not end the cell
    attempts : limit on attempts until a reply can be read; `None`: the default
    example  : a possible reply, for estimates of later calls; empty if any text would do
    made     : the record so far, to be stored even if this call gives no verdict
    plain    : messages to be sent without the JSON schema in `params`, to an endpoint that rejects the call with it
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
    plain: Sequence[Mapping[str, str]] | None = None

    def without_schema(self) -> "Call":
        """Return the call as it is sent to an endpoint that takes no JSON schema."""
        params = {name: value for name, value in self.params.items() if name != SCHEMA_PARAM}
        return replace(self, messages=self.plain or self.messages, params=params, plain=None)


@dataclass(frozen=True)
class Outcome:
    """The result of a procedure, in screen order: `Verdict.A` prefers the text shown first.

    For a negated question too: the method converts "the first is worse" to `Verdict.B`.

    p_second                  : probability that the second is preferred, from log-probabilities
    score_first, score_second : scores of a pointwise judge
    made                      : the record of a comparison table, in screen order, to be stored
    token_mass                : the part of the answer token's probability on the answers on offer; of two scores, the smaller
    """

    verdict: Verdict
    rationale: str = ""
    p_second: float | None = None
    score_first: float | None = None
    score_second: float | None = None
    made: Mapping[str, Any] | None = None
    token_mass: float | None = None


def with_ties(outcome: Outcome, setting: Setting) -> Outcome:
    """Return an outcome as a tie where it is less clear than the option `tie_below` asks.

    Clear is |2 P - 1| of a probability, from 0 to 1, or the difference of two scores in points; what has neither stays.
    """
    margin = setting.options.get("tie_below", 0)
    clear = clearness(outcome.p_second, outcome.score_first, outcome.score_second)
    return outcome if clear is None or clear >= margin else replace(outcome, verdict=Verdict.TIE)


def clearness(p: float | None, score: float | None, other_score: float | None) -> float | None:
    """Return how clear a verdict is, or `None` without a probability or two scores."""
    if p is not None:
        return abs(2 * p - 1)
    return None if score is None or other_score is None else abs(score - other_score)


# Yields calls that can be made concurrently, is sent their values in the same order, and returns the outcome.
Procedure = Generator[Sequence[Call], list[Any], Outcome]


class Method(ABC):
    """A way of judging."""

    name: ClassVar[str]
    needs_endpoint: ClassVar[bool]
    parser_version: ClassVar[str]
    options: ClassVar[Mapping[str, Any]] = {}  # names and defaults of the parameters that the method uses itself
    shows_tables: ClassVar[bool] = False  # also stored ones
    gives_probability: ClassVar[bool] = False  # always, without the option `logprobs`

    def prompt_version(self, task: str, setting: Setting) -> str:
        """Return the version of the prompt for pairs of this task, or an empty string for a method without prompts.

        Raises: BadSettings if the method has none for it.
        """
        return ""

    def version_of(self, presentation: Presentation, setting: Setting) -> str:
        """Return the version of the prompt for one presentation."""
        return self.prompt_version(presentation.task, setting)

    def check(self, task: str, setting: Setting) -> None:
        """Refuse a task or options that the method doesn't support, before any call.

        Raises: BadSettings
        """
        self.prompt_version(task, setting)


class Baseline(Method):
    """Decides without an endpoint: a control for real judges."""

    needs_endpoint = False

    @abstractmethod
    def decide(self, presentation: Presentation, *, seed: int) -> Verdict:
        """Return the preferred text of one presentation, always the same for the same arguments."""


class AskingMethod(Method):
    """Asks a model, in one call or in several rounds."""

    needs_endpoint = True
    default_params: ClassVar[Mapping[str, Any]] = {"temperature": 0}

    @abstractmethod
    def ask(self, presentation: Presentation, setting: Setting) -> Procedure:
        """Judge one presentation: yield calls, receive their values, return the outcome.

        It must be deterministic: a stopped run is resumed by replaying the procedure on the stored answers.
        Raises: UnparsedVerdict if the values give no verdict.
        """

    @abstractmethod
    def prompt_version(self, task: str, setting: Setting) -> str:
        """Return the version of the prompt, which names its files."""


M = TypeVar("M", bound=Method)
_METHODS: dict[str, Method] = {}


def register(cls: type[M]) -> type[M]:
    """Class decorator: register a method under its name."""
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

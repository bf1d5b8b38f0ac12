"""The judge configurations of an ablation, and its parts, each of which varies something. No models.

The parts are those of Predicting Text Preference Via Structured Comparative Reasoning: methods (its table 1), inference
schemes (table 2), aspect models (table 3), call budgets (table 4), the same with examples (table 5), and numbers of
tables (figure 3). `grid` crosses the numbers of tables with schemes and aspects.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from django.utils.text import slugify

from judging.core.errors import BadSettings
from judging.methods.options import (
    ASKED,
    CELL,
    FITTED,
    FIXED,
    MOST_BUDGET,
    MOST_SAMPLES,
    MOST_SHOTS,
    OFFLINE,
    ONLINE,
)
from judging.methods.sc2.bracket import EXACT, RANDOM, TOURNAMENT, comparisons, samples_within

SC2, SELF_CONSISTENCY = "sc2", "self-consistency"
ASPECT_SAMPLES = 3  # lists of aspects drawn for a pair with the online aspect model
MAIN_SAMPLES = 8  # |C| where something else is varied, and the samples of self-consistency
METHODS = ("direct", "direct-aspects", "cot", "cot-1shot", SELF_CONSISTENCY, SC2)
WITH_ASPECTS = ("direct-aspects", "cot-1shot", SC2)
REFERENCE = "direct"
ROUNDS = 5
# The stored option values of these methods.
STORED_ONLINE = {"direct-aspects": ASKED, "cot-1shot": ASKED, SC2: ONLINE}
STORED_OFFLINE = {"direct-aspects": FIXED, "cot-1shot": FIXED, SC2: OFFLINE}
PREFIX = "ab"
LONGEST_NAME = 80


@dataclass(frozen=True)
class JudgeConfiguration:
    """One configuration of a judge.

    samples : tables of SC², or samples of self-consistency; `None` if the budget determines the tables
    scheme  : how the most consistent table is found
    aspects : online or offline, for methods with aspects
    budget  : calls per verdict of SC²
    shots   : examples shown
    example_tables : SC² with examples: they have tables, in the verdict's calls and in the comparator's
    variant : SC²: the study's stored tables of this variant are shown, and none are made
    """

    method: str
    samples: int | None = None
    scheme: str | None = None
    aspects: str | None = None
    budget: int | None = None
    shots: int = 0
    example_tables: bool = False
    variant: str = ""

    @property
    def tables(self) -> int | None:
        """How many tables SC² draws."""
        if self.method != SC2 or self.budget is None:
            return self.samples if self.method == SC2 else None
        return samples_within(self.budget, scheme=self.scheme or TOURNAMENT, others=1 + self.aspect_calls)

    @property
    def aspect_calls(self) -> int:
        """Calls that ask for aspects."""
        if self.aspects != ONLINE:
            return 0
        return ASPECT_SAMPLES if self.method == SC2 else 1

    @property
    def comparator_calls(self) -> int | None:
        """Calls of the comparator; `None` without tables."""
        return None if self.tables is None else comparisons(self.scheme or TOURNAMENT, self.tables)

    @property
    def calls(self) -> int:
        """Calls per verdict if every answer can be read, without those that all pairs share."""
        if self.method == SELF_CONSISTENCY:
            return self.samples or MAIN_SAMPLES
        return 1 + self.aspect_calls + (self.tables or 0) + (self.comparator_calls or 0)

    @property
    def allowed(self) -> int | None:
        """The limit on calls per verdict, for methods that have one."""
        return self.samples if self.method == SELF_CONSISTENCY else self.budget

    @property
    def label(self) -> str:
        """Its slug, without rounds and endpoint."""
        parts = [self.method]
        if self.variant:
            parts.append(f"tables-{slugify(self.variant)}")
        elif self.method == SC2:
            parts += [f"c{self.samples}" if self.budget is None else f"b{self.budget}", self.scheme or ""]
        if self.method == SELF_CONSISTENCY:
            parts.append(f"n{self.samples}")
        if self.aspects:
            parts.append(self.aspects)
        if self.shots:
            parts.append(f"s{self.shots}{'-tables' if self.example_tables else ''}")
        return "-".join(parts)

    def params(self, aspects: Sequence[str] | None) -> dict[str, Any]:
        """Return the parameters of its judge.

        aspects : the offline ones if a group's version is current; `None`: the task's own
        """
        found: dict[str, Any] = {}
        if self.variant:
            return found
        if self.method in (SC2, SELF_CONSISTENCY) and self.budget is None:
            found["samples"] = self.samples
        if self.budget is not None:
            found["budget"] = self.budget
        if self.method == SC2:
            found["scheme"] = self.scheme
        if self.aspects == ONLINE:
            found["aspects"] = STORED_ONLINE[self.method]
        elif self.aspects == OFFLINE:
            found["aspects"] = STORED_OFFLINE[self.method] if aspects is None else list(aspects)
        if self.aspects == ONLINE and self.method == SC2:
            found["aspect_samples"] = ASPECT_SAMPLES
        if self.shots:
            found["shots"] = self.shots
        if self.example_tables:
            found |= {"example_tables": True, "comparator_shots": self.shots}
        return found


@dataclass(frozen=True)
class AskedEndpoint:
    """What of an endpoint stands beside the numbers of the judges that ask it."""

    name: str
    model: str
    currency: str


@dataclass(frozen=True)
class AblationJudge:
    """The settings of a judge that tell its configuration, and that stand beside its numbers.

    key : its primary key
    """

    name: str
    method: str
    endpoint: AskedEndpoint | None
    table_endpoint: AskedEndpoint | None
    table_variant: str
    repeats: int
    params: Mapping[str, Any]
    seed: int
    created_at: Any
    key: int


def name_of(configuration: JudgeConfiguration, judge: AblationJudge) -> str:
    """Name a judge by its configuration and a hash of its settings, including aspects and seed.

    What its endpoint's test has added is left out, so that a later test makes no other judge.
    """
    endpoint = judge.endpoint.name if judge.endpoint else ""
    settings = [judge.method, endpoint, judge.repeats, _given(judge.params), judge.seed]
    settings += [judge.table_endpoint.name] if judge.table_endpoint else []
    settings += [f"variant {judge.table_variant}"] if judge.table_variant else []
    digest = hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()[:6]
    head = f"{PREFIX}-{configuration.label}-r{judge.repeats}-{endpoint}"
    return f"{head[: LONGEST_NAME - len(digest) - 1].rstrip('-')}-{digest}"


def _given(params: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in params.items() if name != CELL and not (name in FITTED and value is None)}


def configuration_of(judge: AblationJudge) -> JudgeConfiguration | None:
    """Return the configuration of a judge; `None` if it isn't an ablation's."""
    if not judge.name.startswith(f"{PREFIX}-") or judge.method not in METHODS or judge.endpoint is None:
        return None
    params = judge.params
    given = params.get("aspects")
    aspects = None
    if judge.method in WITH_ASPECTS and not judge.table_variant:
        aspects = ONLINE if given == STORED_ONLINE[judge.method] else OFFLINE
    found = JudgeConfiguration(
        method=judge.method,
        samples=params.get("samples"),
        scheme=params.get("scheme"),
        aspects=aspects,
        budget=params.get("budget"),
        shots=params.get("shots", 0),
        example_tables=params.get("example_tables", False),
        variant=judge.table_variant,
    )
    return found if name_of(found, judge) == judge.name else None


@dataclass(frozen=True)
class Axes:
    """The values that are varied.

    samples : numbers of tables; `budgets`: calls per verdict; `shots`: numbers of examples
    variants : of the study's stored tables, each another row beside the methods
    """

    samples: tuple[int, ...] = (1, 4, 8)
    schemes: tuple[str, ...] = (RANDOM, TOURNAMENT, EXACT)
    aspects: tuple[str, ...] = (ONLINE, OFFLINE)
    budgets: tuple[int, ...] = (8, 15, 24)
    shots: tuple[int, ...] = (3, 5)
    variants: tuple[str, ...] = ()

    def check(self) -> None:
        """Refuse invalid values.

        Raises: BadSettings
        """
        _require("samples", self.samples, range(1, MOST_SAMPLES + 1))
        _require("scheme", self.schemes, (RANDOM, TOURNAMENT, EXACT))
        _require("aspects", self.aspects, (ONLINE, OFFLINE))
        _require("budget", self.budgets, range(2, min(MOST_BUDGET, MOST_SAMPLES) + 1))
        _require("shots", self.shots, range(1, MOST_SHOTS + 1))


def _require(what: str, values: Iterable[object], known: Sequence[object]) -> None:
    for value in values:
        if value not in known:
            in_order = isinstance(known, range)
            listed = f"from {known[0]} to {known[-1]}" if in_order else f"one of {', '.join(map(str, known))}"
            raise BadSettings(f"{what} of an ablation is {listed}, got {value}")


def sc2(
    samples: int | None = MAIN_SAMPLES, *, scheme: str = TOURNAMENT, aspects: str = OFFLINE, **more: Any
) -> JudgeConfiguration:
    """Return a configuration of SC², by default that of the paper's main experiment."""
    return JudgeConfiguration(SC2, None if "budget" in more else samples, scheme, aspects, **more)


PARTS = ("methods", "schemes", "aspects", "budgets", "shots", "samples", "grid")
PAPER = PARTS[:-1]  # the default


def configurations_by_part(axes: Axes) -> dict[str, list[JudgeConfiguration]]:
    """Return the configurations of each part."""
    methods = [JudgeConfiguration("direct"), JudgeConfiguration("direct-aspects", aspects=OFFLINE)]
    methods += [JudgeConfiguration("cot"), JudgeConfiguration("cot-1shot", aspects=OFFLINE)]
    methods += [JudgeConfiguration(SELF_CONSISTENCY, MAIN_SAMPLES), sc2()]
    methods += [JudgeConfiguration(SC2, variant=one) for one in axes.variants]
    aspects = [(JudgeConfiguration("direct-aspects", aspects=one), sc2(aspects=one)) for one in axes.aspects]

    def with_budget(budget: int, shots: int = 0) -> tuple[JudgeConfiguration, JudgeConfiguration]:
        few_shot = sc2(budget=budget, shots=shots, example_tables=shots > 0)
        return JudgeConfiguration(SELF_CONSISTENCY, budget, shots=shots), few_shot

    return {
        "methods": methods,
        "schemes": [sc2(scheme=scheme) for scheme in axes.schemes],
        "aspects": [one for two in aspects for one in two],
        "budgets": [one for budget in axes.budgets for one in with_budget(budget)],
        "shots": [one for both in product(axes.budgets, axes.shots) for one in with_budget(*both)],
        "samples": [sc2(samples) for samples in axes.samples],
        "grid": [
            sc2(samples, scheme=scheme, aspects=aspects)
            for samples, scheme, aspects in product(axes.samples, axes.schemes, axes.aspects)
        ],
    }


def configurations(parts: Iterable[str], axes: Axes) -> list[JudgeConfiguration]:
    """List the configurations of some parts, each once, cheapest first.

    Raises: BadSettings for an unknown part or an invalid value.
    """
    axes.check()
    wanted = list(parts)
    _require("part", wanted, PARTS)
    by_part = configurations_by_part(axes)
    found = dict.fromkeys(one for part in PARTS if part in wanted for one in by_part[part])
    return sorted(found, key=lambda one: one.calls)


def parts_of(one: JudgeConfiguration) -> list[str]:
    """List the parts in which a configuration is a row."""
    plain = not one.shots and one.budget is None
    is_main = plain and one.method == SC2 and one.samples == MAIN_SAMPLES
    offline = one.aspects in (OFFLINE, None)
    voted = one.method == SELF_CONSISTENCY
    rows = {
        "methods": plain
        and offline
        and (bool(one.variant) or one.method not in (SC2, SELF_CONSISTENCY) or one.samples == MAIN_SAMPLES)
        and one.scheme in (TOURNAMENT, None),
        "schemes": is_main and offline,
        "aspects": one.method == "direct-aspects" or (is_main and one.scheme == TOURNAMENT),
        "budgets": not one.shots and (voted or one.budget is not None),
        "shots": bool(one.shots) and (voted or one.budget is not None),
        "samples": plain and one.method == SC2 and offline and one.scheme == TOURNAMENT,
        "grid": plain and one.method == SC2 and not one.variant,
    }
    return [part for part, is_row in rows.items() if is_row]


def sort_key(one: JudgeConfiguration, part: str) -> tuple[Any, ...]:
    """Return the sort key of a row in a part."""
    schemes = (RANDOM, TOURNAMENT, EXACT)
    return (
        (one.allowed or 0) if part in ("budgets", "shots") else 0,
        (one.shots, one.example_tables),
        METHODS.index(one.method),
        one.samples or 0,
        one.aspects == OFFLINE,
        schemes.index(one.scheme) if one.scheme in schemes else 0,
        one.variant,
    )

"""What a ranking of a study's systems asks a judge: the design, what can be compared, the most that it takes, and its result."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from analysis.adaptive import STEP, Ranked
from analysis.ranking import rating
from analysis.types import BoolArray, IntArray
from annotation.models import Pair, Study
from annotation.questions.questions import MAIN
from judging.audits.on_demand import estimate_on_demand
from judging.audits.services import place_in_draw
from judging.core.errors import BadSettings
from judging.models import Judge
from judging.outcomes.tuned import tuned_pairs
from judging.runs.estimates import RunEstimate
from reporting.core.estimates import number
from reporting.core.text import printable
from reporting.core.units import counted_in_english as count

DESIGNS = "all, balanced:N, swiss or adaptive"
PEEKING = "the ranking was looked at after each step: differences by chance are found more often than the level says"
_DESIGN = re.compile(r"(?P<design>all|swiss|adaptive|balanced)(?::(?P<per_instance>[1-9][0-9]{0,3}))?")


@dataclass(frozen=True, eq=False)
class ComparedTexts:
    """What can be compared: the first pair of texts of each instance and two systems.

    ends : (n_pairs, 2) codes of the names; pairs : (n_instances, n_pairs) primary keys, -1 where there are no texts
    """

    names: tuple[str, ...]
    ends: IntArray
    pairs: IntArray

    @property
    def available(self) -> BoolArray:
        """Where an instance has texts of both systems."""
        return self.pairs >= 0


@dataclass(frozen=True)
class WantedRanking:
    """A ranking that is wanted.

    design  : one of `DESIGNS`; settle, budget, step, seed: as for `analysis.adaptive.rank_systems`
    both_orders : whether each comparison is asked in both orders; else one is drawn
    dataset : only its instances; sample: so many of them, drawn by the seed; None: all
    question: of the study, by number
    """

    study: Study
    judge: Judge
    question: int = MAIN
    design: str = "adaptive"
    settle: int = 1
    budget: int | None = None
    step: int = STEP
    both_orders: bool = False
    seed: int = 0
    dataset: str = ""
    sample: int | None = None

    @property
    def options(self) -> dict[str, Any]:
        """All but study, judge and question, as JSON."""
        return {name: getattr(self, name) for name in OPTIONS}

    @property
    def field(self) -> "ComparedTexts":
        """What can be compared.

        Raises: BadSettings
        """
        return read_field(self.study, judge=self.judge, dataset=self.dataset, sample=self.sample, seed=self.seed)


OPTIONS = ("design", "settle", "budget", "step", "both_orders", "seed", "dataset", "sample")


def design_settings(text: str) -> dict[str, Any]:
    """Read a design as `rank_systems` takes it.

    Raises: BadSettings
    """
    match = _DESIGN.fullmatch(text)
    if match is None or (match["design"] == "balanced") != (match["per_instance"] is not None):
        raise BadSettings(f"the design is {text!r}; it must be {DESIGNS}")
    return {
        "design": match["design"],
        **({"per_instance": int(match["per_instance"])} if match["per_instance"] else {}),
    }


def read_field(
    study: Study, *, judge: Judge | None = None, dataset: str = "", sample: int | None = None, seed: int = 0
) -> ComparedTexts:
    """Read what can be compared in a study, in an order that is the same on every server.

    judge : the instances that it was tuned on are left out
    dataset : only its instances; sample : so many, drawn by the seed
    Raises: BadSettings where fewer than three systems are compared
    """
    chosen = Pair.objects.filter(matchup__instance__study=study)
    if dataset:
        chosen = chosen.filter(matchup__instance__dataset=dataset)
    of = ("dataset", "instance_id")
    names = [*(f"matchup__instance__{one}" for one in of), "matchup__system_a__name", "matchup__system_b__name", "pk"]
    used = set() if judge is None else set(tuned_pairs(study, judge).tolist())
    # Of several pairs the first stays.
    rows = [row for row in chosen.order_by("-index", "pk").values_list(*names) if row[-1] not in used]
    instances = sorted({row[:2] for row in rows})
    if sample is not None:
        drawn = sorted(instances, key=lambda one: place_in_draw(seed, "\x00".join(one)))[:sample]
        instances = sorted(drawn)
    systems = sorted({name for row in rows for name in row[2:4]})
    if len(systems) < 3:
        raise BadSettings(f"{dataset or study} compares {len(systems)} systems; a design is for three or more")
    place, code = ({name: at for at, name in enumerate(listed)} for listed in (instances, systems))
    columns = sorted({(code[a], code[b]) for *_, a, b, _pk in rows})
    column = {pair: at for at, pair in enumerate(columns)}
    pairs = np.full((len(instances), len(columns)), -1)
    for dataset_, name, a, b, pk in rows:
        if (dataset_, name) in place:
            pairs[place[dataset_, name], column[code[a], code[b]]] = pk
    return ComparedTexts(tuple(systems), np.array(columns, dtype=np.int64), pairs)


def most_presentations(wanted: WantedRanking, field: ComparedTexts) -> int:
    """Return how many presentations a design asks at most.

    Raises: BadSettings
    """
    per_instance = design_settings(wanted.design).get("per_instance")
    on_each = field.available.sum(axis=1)
    cells = int((on_each if per_instance is None else np.minimum(on_each, per_instance)).sum())
    return (2 if wanted.both_orders else 1) * (cells if wanted.budget is None else min(cells, wanted.budget))


def estimate_ranking(wanted: WantedRanking, *, limit: int | None = None) -> RunEstimate:
    """Estimate the most that a ranking takes; no call is made.

    limit : presentations to ask this time
    Raises: BadSettings
    """
    most = most_presentations(wanted, wanted.field)
    most = most if limit is None else min(most, limit)
    return estimate_on_demand(wanted.study, wanted.judge, most, question=wanted.question)


def standing_of(field: ComparedTexts, found: Ranked) -> dict[str, Any]:
    """Return the ranking as JSON, the best system first, and why it stopped."""
    now = found.standing
    order = np.argsort(-now.strengths.round(9), kind="stable").tolist()  # those without a strength come last
    systems = [
        {
            "system": field.names[at],
            "rank": int(now.rank[at]) or None,
            "rank_low": int(now.low[at]) or None,
            "rank_high": int(now.high[at]) or None,
            "value": number(float(rating(now.strengths)[at])),
            "strength": number(float(now.strengths[at])),
        }
        for at in order
    ]
    return {
        "instances": len(field.pairs),
        "comparisons": now.comparisons,
        "without_verdict": found.asked - now.comparisons,
        "of_all": int(field.available.sum()),
        "settled": now.settled,
        "stopped": found.stopped,
        "systems": systems,
        "caution": PEEKING,
    }


COLUMNS = ("system", "rank", "rank_low", "rank_high", "value", "strength")


def as_rows(found: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield a row of CSV for each system, the best first."""
    for row in found["systems"]:
        yield {name: "" if row[name] is None else row[name] for name in COLUMNS}


def as_text(found: dict[str, Any]) -> str:
    """Return the ranking for a terminal."""
    lines = [
        printable(
            f"{found['study']}, judge {found['judge']}, {found['design']}: {found['comparisons']} of {count(found['of_all'], 'comparisons')}"
        ),
        f"asked {count(found['asked'], 'presentations')}, {count(found['calls'], 'calls')}; stopped: {found['stopped']}; places settled: {found['settled']}",
    ]
    if found["without_verdict"]:
        lines.append(f"{count(found['without_verdict'], 'comparisons')} without a verdict")
    if found["message"]:
        lines.append(printable(found["message"]))
    for row in found["systems"]:
        rank = "-" if row["rank"] is None else f"{row['rank']} ({row['rank_low']}-{row['rank_high']})"
        value = "-" if row["value"] is None else f"{row['value']:.0f}"
        lines.append(printable(f"  {rank:<9} {value:>5}  {row['system']}"))
    return "\n".join([*lines, found["caution"]])

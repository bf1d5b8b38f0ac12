"""A ranking of a study's systems that asks a judge step by step, by a design, until places are settled or a budget is used."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from analysis.adaptive import Cell, Ranked, Replies, rank_systems
from analysis.ranking import rating
from analysis.types import BoolArray, IntArray
from annotation.models import Pair, Study
from judging.audits.on_demand import Asked, Found, ask_missing
from judging.audits.services import place_in_draw
from judging.core.errors import BadSettings
from judging.endpoints.client_factory import MakeClient, retrying_client
from judging.jobs.stopping import StopFlag
from judging.models import JudgeRun, Judgment
from judging.runs.execution import ExecutionResult
from reporting.core.estimates import number
from reporting.core.text import printable

DESIGNS = "all, balanced:N, swiss or adaptive"
PEEKING = "the ranking was looked at after each step: differences by chance are found more often than the level says"
_DESIGN = re.compile(r"(?P<design>all|swiss|adaptive|balanced)(?::(?P<per_instance>[1-9][0-9]{0,3}))?")


@dataclass(frozen=True, eq=False)
class Field:
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


@dataclass
class Spent:
    """What was asked this time: presentations, and calls made for them. `ended`: how the last step ended, if any was made."""

    asked: int = 0
    calls: int = 0
    ended: ExecutionResult | None = None


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


def read_field(study: Study, *, dataset: str = "", sample: int | None = None, seed: int = 0) -> Field:
    """Read what can be compared in a study, in an order that is the same on every server.

    dataset : only its instances; sample : so many, drawn by the seed
    Raises: BadSettings where fewer than three systems are compared
    """
    chosen = Pair.objects.filter(matchup__instance__study=study)
    if dataset:
        chosen = chosen.filter(matchup__instance__dataset=dataset)
    of = ("dataset", "instance_id")
    names = [*(f"matchup__instance__{one}" for one in of), "matchup__system_a__name", "matchup__system_b__name", "pk"]
    rows = list(chosen.order_by("-index", "pk").values_list(*names))  # of several pairs the first stays
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
    return Field(tuple(systems), np.array(columns, dtype=np.int64), pairs)


def ask_systems(
    run: JudgeRun,
    field: Field,
    *,
    seed: int,
    both_orders: bool,
    stop: StopFlag,
    limit: int | None = None,
    make_client: MakeClient = retrying_client,
    on_step: Callable[[Spent], object] = lambda _: None,
    **design: Any,
) -> tuple[Ranked, Spent]:
    """Rank the systems by a design (`design` as for `rank_systems`), asking the run's judge what is not stored.

    Ends early with the run's cap, or with `limit` presentations of this time; the same call resumes with the stored answers, and
    asks nothing twice. Which text is shown first is drawn by the seed, or both orders are asked: two different answers are a tie.
    """
    rng, spent = np.random.default_rng(seed), Spent()
    turned = rng.random(field.pairs.shape) < 0.5

    def ask(cells: list[Cell]) -> Replies:
        shown = [_presentations(int(field.pairs[cell]), bool(turned[cell]), both=both_orders) for cell in cells]
        left = None if limit is None else limit - spent.asked
        every = {one for ones in shown for one in ones}
        answers, ended = ask_missing(run, every, stop=stop, limit=left, make_client=make_client)
        if ended:
            spent.ended = ended
            spent.asked += ended.progress.ended.total()
            spent.calls += ended.progress.calls
        on_step(spent)
        return Replies([_score(ones, answers) for ones in shown], not ended or ended.status == JudgeRun.Status.DONE)

    return rank_systems(ask, field.available, field.ends, rng, **design), spent


def _presentations(pair: int, turned: bool, *, both: bool) -> list[Asked]:
    orders = [Judgment.Order.BA, Judgment.Order.AB] if turned else [Judgment.Order.AB, Judgment.Order.BA]
    return [(pair, str(order)) for order in orders[: 1 + both]]


def _score(shown: Sequence[Asked], answers: Found) -> float:
    """Return 1 where the first system is preferred, ½ for a tie, 0, or NaN where an answer lacks or was not read."""
    verdicts = [answers[one].verdict if one in answers else None for one in shown]
    known = [verdict for verdict in verdicts if verdict is not None]
    return (1 - float(np.sign(sum(known)))) / 2 if len(known) == len(verdicts) else float("nan")


def most_presentations(field: Field, *, both_orders: bool, budget: int | None, per_instance: int | None) -> int:
    """Return how many presentations a design asks at most."""
    on_each = field.available.sum(axis=1)
    cells = int((on_each if per_instance is None else np.minimum(on_each, per_instance)).sum())
    return (2 if both_orders else 1) * (cells if budget is None else min(cells, budget))


def standing_of(field: Field, found: Ranked) -> dict[str, Any]:
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


def as_text(found: dict[str, Any]) -> str:
    """Return the ranking for a terminal."""
    lines = [
        printable(
            f"{found['study']}, judge {found['judge']}, {found['design']}: {found['comparisons']} of {found['of_all']} comparisons"
        ),
        f"asked {found['asked']} presentations, {found['calls']} calls; stopped: {found['stopped']}; {found['settled']} places settled",
    ]
    if found["without_verdict"]:
        lines.append(f"{found['without_verdict']} comparisons lack a verdict")
    if found["message"]:
        lines.append(printable(found["message"]))
    for row in found["systems"]:
        rank = "-" if row["rank"] is None else f"{row['rank']} ({row['rank_low']}-{row['rank_high']})"
        value = "-" if row["value"] is None else f"{row['value']:.0f}"
        lines.append(printable(f"  {rank:<9} {value:>5}  {row['system']}"))
    return "\n".join([*lines, found["caution"]])

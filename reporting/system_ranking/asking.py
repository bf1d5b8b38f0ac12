"""Asking a judge step by step, by a design, until places are settled or a budget is used."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from analysis.adaptive import Cell, Ranked, Replies, rank_systems
from judging.audits.asking_on_demand import ask_missing
from judging.audits.on_demand import Asked, Found
from judging.endpoints.client_factory import MakeClient, retrying_client
from judging.jobs.stopping import StopFlag
from judging.models import JudgeRun, Judgment
from judging.runs.execution import ExecutionResult
from judging.runs.usage import usage_of
from reporting.system_ranking.designs import ComparedTexts, WantedRanking, design_settings, standing_of


@dataclass
class Spent:
    """What was asked this time: presentations, and calls made for them. `ended`: how the last step ended, if any was made."""

    asked: int = 0
    calls: int = 0
    ended: ExecutionResult | None = None


def proceed(_: Spent) -> bool:
    """Continue after each step."""
    return True


def ask_for(
    wanted: WantedRanking,
    run: JudgeRun,
    *,
    stop: StopFlag,
    limit: int | None = None,
    on_step: Callable[[Spent], bool] = proceed,
) -> tuple[dict[str, Any], Spent]:
    """Ask for a ranking by a run of `start_on_demand`; returns the ranking as JSON with what it took, and how it ended.

    Raises: BadSettings
    """
    field = wanted.field
    ranked, spent = ask_systems(wanted, field, run, stop=stop, limit=limit, on_step=on_step)
    endpoint = run.judge.endpoint
    cost = usage_of(run.judgments.all(), endpoint.currency if endpoint else "").cost
    found = {
        "study": wanted.study.slug,
        "judge": run.judge.name,
        **wanted.options,
        **standing_of(field, ranked),
        "asked": spent.asked,
        "calls": spent.calls,
        "cost": None if cost is None else str(cost),
        "message": spent.ended.message if spent.ended else "",
    }
    return found, spent


def ask_systems(
    wanted: WantedRanking,
    field: ComparedTexts,
    run: JudgeRun,
    *,
    stop: StopFlag,
    limit: int | None = None,
    make_client: MakeClient = retrying_client,
    on_step: Callable[[Spent], bool] = proceed,
) -> tuple[Ranked, Spent]:
    """Rank the systems by a design, asking the run's judge what is not stored.

    Ends early with the run's cap, with `limit` presentations of this time, or where `on_step` returns False; the same call
    resumes with the stored answers, and asks nothing twice. Which text is shown first is drawn by the seed, or both orders are
    asked: two different answers are a tie.
    """
    rng, spent = np.random.default_rng(wanted.seed), Spent()
    turned = rng.random(field.pairs.shape) < 0.5

    def ask(cells: list[Cell]) -> Replies:
        shown = [_presentations(int(field.pairs[cell]), bool(turned[cell]), both=wanted.both_orders) for cell in cells]
        left = None if limit is None else limit - spent.asked
        every = {one for ones in shown for one in ones}
        answers, ended = ask_missing(run, every, stop=stop, limit=left, make_client=make_client)
        if ended:
            spent.ended = ended
            spent.asked += ended.progress.ended.total()
            spent.calls += ended.progress.calls
        is_done = not ended or ended.status == JudgeRun.Status.DONE
        return Replies([_score(ones, answers) for ones in shown], on_step(spent) and is_done)

    own = {name: getattr(wanted, name) for name in ("settle", "budget", "step")}
    return rank_systems(ask, field.available, field.ends, rng, **own, **design_settings(wanted.design)), spent


def _presentations(pair: int, turned: bool, *, both: bool) -> list[Asked]:
    orders = [Judgment.Order.BA, Judgment.Order.AB] if turned else [Judgment.Order.AB, Judgment.Order.BA]
    return [(pair, str(order)) for order in orders[: 1 + both]]


def _score(shown: Sequence[Asked], answers: Found) -> float:
    """Return 1 where the first system is preferred, ½ for a tie, 0, or NaN where an answer lacks or was not read."""
    verdicts = [answers[one].verdict if one in answers else None for one in shown]
    known = [verdict for verdict in verdicts if verdict is not None]
    return (1 - float(np.sign(sum(known)))) / 2 if len(known) == len(verdicts) else float("nan")

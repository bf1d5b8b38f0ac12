"""Carrying out a tuning: its candidates' runs by the engine of runs, round by round. Starting it again repeats no answered call."""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
from django.db import transaction
from django.utils import timezone

from analysis.types import IntArray
from annotation.core.errors import Interrupted
from annotation.core.reasons import NO_REASON, reason
from annotation.core.tasks.stopping import StopFlag
from annotation.jobs.work import Hold, held
from annotation.models import Instance, Pair
from judging.core.errors import RunStopped
from judging.endpoints.retrying import MakeClient, retrying_client
from judging.jobs.progress import OnProgress, Progress, ignore_progress
from judging.models import JudgeRun, JudgeTuning
from judging.outcomes.people import people_by_pair
from judging.runs.execution import execute
from judging.runs.judges import store_judge
from judging.runs.pair_filters import ON_DEMAND
from judging.runs.services import add_cells, locked_run, open_failed
from judging.tuning.agreement import Votes, best_threshold, compared, verdicts_at
from judging.tuning.candidates import as_judge, described, settled_schemas
from judging.tuning.services import asked_of_tuning, cost_of_tuning


class TuningStopped(RunStopped):
    """A tuning stopped before its end. Starting it again resumes it, and repeats no answered call."""


def tune(tuning: JudgeTuning, **settings: Any) -> JudgeTuning:
    """Work on a tuning until it has ended. Arguments and errors as of `Search`."""
    return Search(tuning, **settings).work()


@dataclass
class Search:
    """A process's work on a tuning."""

    tuning: JudgeTuning
    stop: StopFlag
    on_progress: OnProgress = ignore_progress
    make_client: MakeClient = retrying_client

    def work(self) -> JudgeTuning:
        """Try the candidates, compare the best one with the untuned judge, and create the tuned judge.

        Raises: JobBusy while another process works on it; TuningStopped if a run stopped, at its cap too; Interrupted if `stop`
        was set
        """
        with held(self.tuning, self.stop) as hold:
            self._search(hold)
        return self.tuning

    def _search(self, hold: Hold) -> None:
        plan, votes = self.tuning.plan, self._votes()
        alive, tried = list(range(len(plan["candidates"]))), {}
        for candidates, instances in plan["rounds"]:
            alive = alive[:candidates]
            pairs = _pairs(plan["choosing"][:instances], votes)
            for candidate_index in alive:
                run = self._ask(hold, candidate_index, pairs)
                threshold, agreement, n = best_threshold(run, pairs, votes)
                result = {"agreement": agreement, "tie_below": threshold, "votes": n, "instances": instances}
                tried[candidate_index] = result
                self._note(tried)
            alive.sort(key=lambda index: (-tried[index]["agreement"], index))
        best, held_out = alive[0], _pairs(plan["held_out"], votes)
        runs = {fromkey: self._ask(hold, fromkey, held_out) for fromkey in dict.fromkeys((best, 0))}
        comparison = compared(
            verdicts_at(runs[best], held_out, tried[best]["tie_below"]),
            verdicts_at(runs[0], held_out, 0.0),
            held_out,
            votes,
        )
        self._note(tried, best=best, held_out=comparison)
        self._make(best, tried[best]["tie_below"])

    def _ask(self, hold: Hold, index: int, pairs: IntArray) -> JudgeRun:
        """Ask a candidate about the pairs that it was not asked about yet, by the engine of runs.

        Raises: Interrupted, TuningStopped
        """
        with transaction.atomic():
            run = self._run(index)
            add_cells(run, Pair.objects.filter(pk__in=pairs.tolist()))
            open_failed(run)
            run.status, run.message = JudgeRun.Status.QUEUED, NO_REASON
            run.in_flight, run.max_cost = self.tuning.in_flight, self._share_of_cap(run)
            run.save(update_fields=["status", "message", "in_flight", "max_cost"])
        spent = asked_of_tuning(self.tuning, but=run)

        def report(progress: Progress) -> None:
            hold.note(spent + progress.done, self.tuning.plan["presentations"])
            self.on_progress(progress)

        paused = JudgeRun.Status.PAUSED
        settings: dict[str, Any] = {"on_progress": report, "make_client": self.make_client}
        ended = execute(run.pk, stop=hold.stop, when_stopped=paused, **settings)
        if ended.signal:
            raise Interrupted
        if ended.status != JudgeRun.Status.DONE:
            raise TuningStopped(ended.reason)
        return JudgeRun.objects.select_related("judge__endpoint", "study").get(pk=run.pk)

    def _share_of_cap(self, run: JudgeRun) -> Decimal | None:
        """Return a run's own cap: what the tuning may spend, less what its other candidates have cost."""
        if self.tuning.max_cost is None:
            return None
        remaining = self.tuning.max_cost - (cost_of_tuning(self.tuning, but=run) or Decimal(0))
        if remaining <= 0:
            raise TuningStopped(reason("tuning_cap_reached", cap=str(self.tuning.max_cost)))
        return remaining

    def _run(self, index: int) -> JudgeRun:
        tuning, candidate = self.tuning, self.tuning.plan["candidates"][index]
        name = f"{tuning.name}-try{index}"
        tried = as_judge(tuning.judge, candidate, name=name, examples=tuning.plan["examples"])
        tried.tuned = {"candidate_of": tuning.name}
        judge = store_judge(tried)
        return locked_run(tuning.study, judge, [tuning.question], only=ON_DEMAND, status=JudgeRun.Status.PAUSED)

    def _make(self, best: int, threshold: float) -> None:
        """Store the tuned judge with its provenance. It is never changed again."""
        tuning, plan = self.tuning, self.tuning.plan
        judge = as_judge(tuning.judge, plan["candidates"][best], name=tuning.name, examples=plan["examples"])
        judge.params |= settled_schemas(judge)
        if threshold:
            judge.params["tie_below"] = threshold
        used = [*plan["shown"], *plan["choosing"]]
        keys = Instance.objects.filter(pk__in=used).order_by("position").values_list("dataset", "instance_id")
        judge.tuned = {
            "from": tuning.judge.name,
            "study": tuning.study.slug,
            "question": tuning.question,
            "settings": tuning.settings,
            "found": tuning.found,
            "instances": [list(key) for key in keys],
            "at": timezone.now().isoformat(),
            "software_version": tuning.software_version,
        }
        tuning.tuned = store_judge(judge)
        tuning.save(update_fields=["tuned"])

    def _note(self, tried: dict[int, dict[str, Any]], **more: Any) -> None:
        candidates = self.tuning.plan["candidates"]
        tried_in_order = sorted(tried.items())
        rows = [{"candidate": described(candidates[index]), "number": index, **item} for index, item in tried_in_order]
        self.tuning.found = {"tried": rows, **more}
        self.tuning.save(update_fields=["found"])

    def _votes(self) -> Votes:
        return people_by_pair(self.tuning.study, question=self.tuning.question)


def _pairs(instances: Sequence[int], votes: Votes) -> IntArray:
    """Return the pairs with votes of some instances, ascending.

    Raises: TuningStopped if all votes were excluded since the plan was made
    """
    keys = Pair.objects.filter(matchup__instance__in=list(instances)).order_by("pk").values_list("pk", flat=True)
    voted = [pk for pk in keys if pk in votes]
    if not voted:
        raise TuningStopped(reason("no_votes_left"))
    return np.array(voted, dtype=np.int64)

"""The smallest studies, judges and runs that judging can be tried on."""

from collections.abc import Sequence
from functools import partial
from types import ModuleType
from typing import Any
from unittest.mock import patch

from django.contrib.auth import get_user_model
from django_tasks_db.models import DBTaskResult

from annotation.core.tasks.stopping import StopFlag
from annotation.jobs.work import do_job
from annotation.models import Batch, Generation, Hit, HitPair, Instance, Matchup, Pair, RoleGrant, Study, System
from annotation.models.members import main_group
from annotation.studies.configurations import configurations
from annotation.studies.outcomes import Selection, select
from judging.endpoints.retrying import RetryingClient
from judging.models import Endpoint, Judge, JudgeRun, Judgment
from judging.runs.execution import ExecutionResult, execute
from judging.runs.services import start_run
from tests.fakes import ScriptedClient

# A further question of a study, as it is stored.
COHERENCE: dict[str, Any] = {
    "key": "coherence",
    "text": "Which summary hangs together better?",
    "description": "Sentences follow from each other.\nIgnore spelling.",
    "ties_allowed": True,
    "strength": False,
    "tie_kinds": False,
}


def make_study(slug: str = "tea", *, instances: int = 3, k: int = 2, **settings: Any) -> Study:
    """Make a study with two systems and k pairs per instance; every text is different."""
    study = Study.objects.create(slug=slug, title=slug.title(), seed=1, group=main_group(), **settings)
    heron, wren = System.objects.bulk_create(
        System(study=study, name=name, position=place) for place, name in enumerate(("heron", "wren"))
    )
    stored = Instance.objects.bulk_create(
        Instance(study=study, instance_id=f"i{place}", dataset="talk", source=source, position=place)
        for place, source in enumerate(f"What was said in talk {place}." for place in range(instances))
    )
    matchups = Matchup.objects.bulk_create(Matchup(instance=one, system_a=heron, system_b=wren) for one in stored)
    texts = iter(
        Generation.objects.bulk_create(
            Generation(instance=one, system=system, index=index, text=text)
            for place, one in enumerate(stored)
            for index in range(k)
            for system, text in (
                (heron, f"Heron {index} on talk {place}, at length."),
                (wren, f"Wren {index} on talk {place}."),
            )
        )
    )
    Pair.objects.bulk_create(
        Pair(matchup=matchup, index=index, generation_a=next(texts), generation_b=next(texts))
        for matchup in matchups
        for index in range(k)
    )
    return study


def make_batch(study: Study, pairs: Sequence[Pair], name: str = "first") -> Batch:
    """Publish some pairs of a study, one HIT per matchup."""
    heron, wren = study.systems.order_by("position")
    batch = Batch.objects.create(
        study=study, name=name, dataset="talk", system_a=heron, system_b=wren, pairs_per_hit=2, raters_per_hit=1
    )
    hits = Hit.objects.bulk_create(
        Hit(batch=batch, matchup_id=matchup_id, position=position)
        for position, matchup_id in enumerate(dict.fromkeys(pair.matchup_id for pair in pairs))
    )
    HitPair.objects.bulk_create(
        HitPair(hit=hit, pair=pair, position=place)
        for hit in hits
        for place, pair in enumerate(pair for pair in pairs if pair.matchup_id == hit.matchup_id)
    )
    return batch


def pairs_in(study: Study) -> list[Pair]:
    return list(Pair.objects.filter(matchup__instance__study=study).order_by("matchup__instance__position", "index"))


def selection_of(study: Study) -> Selection:
    """Select everything there is in a study's one configuration."""
    return select(configurations(study)[0])


def make_endpoint(base_url: str = "https://models.example/v1", **settings: Any) -> Endpoint:
    """Make an endpoint without the check of its host."""
    return Endpoint.objects.create(**{"name": "stand-in", "base_url": base_url, "model": "small", **settings})


def make_judge(method: str = "direct", **settings: Any) -> Judge:
    """Make a judge that shows A first; a direct one gets an endpoint of its own if none is given."""
    if method == "direct" and "endpoint" not in settings:
        settings["endpoint"] = make_endpoint()
    return Judge.objects.create(**{"name": "judy", "method": method, "order": "ab", "seed": 7, **settings})


async def no_sleep(seconds: float) -> None:
    """Wait for nothing."""


def judge_with(
    client: ScriptedClient,
    study: Study,
    judge: Judge,
    *,
    stop: StopFlag | None = None,
    limit: int | None = None,
    in_flight: int = 2,
    **settings: Any,
) -> ExecutionResult:
    """Start (or start again) a judge's run on a study and work on it with a scripted client."""
    run = start_run(study=study, judge=judge, in_flight=in_flight, **settings)
    return execute(
        run.pk,
        stop=stop or StopFlag(),
        when_stopped=JudgeRun.Status.PAUSED,
        limit=limit,
        make_client=lambda endpoint: RetryingClient(client, sleep=no_sleep),
    )


def fill(
    run: JudgeRun, pair: Pair, order: str, *, verdict: int | None = None, status: str = "parsed", question: int = 0
) -> Judgment:
    return Judgment.objects.create(run=run, pair=pair, order=order, verdict=verdict, status=status, question=question)


def do_last_task(module: ModuleType, name: str, client: ScriptedClient) -> None:
    """Do the last task as a worker does; its work, a function of a module, asks the client."""
    task = DBTaskResult.objects.latest("enqueued_at")
    work = partial(getattr(module, name), make_client=lambda _endpoint: RetryingClient(client, sleep=no_sleep))
    with patch.object(module, name, work):
        task.set_successful(do_job.func(*task.args_kwargs["args"]))


def make_user(name: str, role: str = "", study: Study | None = None) -> Any:
    """Make a user, with one role where one is named."""
    user = get_user_model().objects.create_user(name)
    if role:
        RoleGrant.objects.create(user=user, role=role, study=study, group=None if study else main_group())
    return user

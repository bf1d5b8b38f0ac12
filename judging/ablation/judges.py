"""The stored judges of an ablation: made for a configuration, and found again."""

from collections.abc import Sequence

from annotation.models import Study
from annotation.questions.questions import MAIN
from judging.ablation.judge_configurations import (
    PREFIX,
    AblationJudge,
    AskedEndpoint,
    JudgeConfiguration,
    name_of,
)
from judging.ablation.round_arrays import AspectList, KnownAspects, one_of_each
from judging.aspects.aspect_sets import versions_of
from judging.models import Endpoint, Judge


def judge_of(
    configuration: JudgeConfiguration,
    *,
    endpoint: Endpoint,
    table_endpoint: Endpoint | None = None,
    rounds: int,
    seed: int,
    aspects: Sequence[str] | None,
) -> Judge:
    """Return the judge of a configuration, unsaved; the same for the same arguments.

    All have the same seed, so that they show a pair in the same order and share cached answers: the tables of a smaller
    |C| are among those of a larger one.

    table_endpoint : where judges with tables make these
    """
    params = configuration.params(aspects)
    judge = Judge(
        method=configuration.method,
        endpoint=endpoint,
        table_endpoint=table_endpoint if configuration.tables else None,
        table_variant=configuration.variant,
        order=Judge.OrderPolicy.RANDOM,
        repeats=rounds,
        params=params,
        seed=seed,
    )
    judge.name = name_of(configuration, settings_of(judge))
    return judge


def settings_of(judge: Judge) -> AblationJudge:
    """Return a judge's settings that tell its configuration."""
    return AblationJudge(
        name=judge.name,
        method=judge.method,
        endpoint=_asked(judge.endpoint),
        table_endpoint=_asked(judge.table_endpoint),
        table_variant=judge.table_variant,
        repeats=judge.repeats,
        params=judge.params,
        seed=judge.seed,
        created_at=judge.created_at,
        key=judge.pk,
    )


def _asked(endpoint: Endpoint | None) -> AskedEndpoint | None:
    return None if endpoint is None else AskedEndpoint(endpoint.name, endpoint.model, endpoint.currency)


def ablation_judges(
    study: Study, *, endpoint: str = "", aspects: KnownAspects | None = None
) -> list[tuple[Judge, JudgeConfiguration]]:
    """List the ablation judges that have runs on a study's main question, of one endpoint if given, as `one_of_each`.

    aspects : in place of those that the group knows
    """
    answering = {run.judge_id for run in study.judge_runs.only("judge", "questions") if MAIN in run.questions}
    stored = Judge.objects.select_related("endpoint", "table_endpoint").filter(
        pk__in=answering, name__startswith=f"{PREFIX}-"
    )
    judges = {judge.name: judge for judge in stored.order_by("pk")}
    known = known_aspects(study) if aspects is None else aspects
    listed = one_of_each(map(settings_of, judges.values()), known, endpoint=endpoint)
    return [(judges[one.name], configuration) for one, configuration in listed]


def known_aspects(study: Study) -> KnownAspects:
    """Read the aspects of a study's task: those of its group's versions."""
    versions = [AspectList(str(version), tuple(version.aspects)) for version in versions_of(study)]
    names = {one.texts: one.name for one in reversed(versions)}  # the latest are first
    return KnownAspects(study.task_kind, versions[0].key if versions else None, names)

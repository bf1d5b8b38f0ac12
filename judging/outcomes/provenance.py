"""Rows → origins of the answers behind judges' verdicts, and prompts that were probably cut."""

import hashlib
import json
from collections import defaultdict
from collections.abc import Collection, Mapping
from typing import Any

from django.db.models import Count, QuerySet
from django.forms.models import model_to_dict

from analysis.types import FloatArray
from annotation.core.database.columns import number_columns
from annotation.models import Study
from judging.models import Judge, JudgeRun, Judgment
from judging.outcomes.answer_origins import Origin, Provenance, cut_answers, provenance_by

Link = Judgment.completions.through
JUDGE, RUN = "judgment__run__judge_id", "judgment__run_id"
ORIGIN = ("served_model", "fingerprint", "provider")
RELATED = ("endpoint", "table_endpoint", "prompt_file")
TOKENS = ("prompt_tokens", "expected_prompt_tokens")


def provenance_of_judges(study: Study, judges: Collection[Judge], making: Collection[str]) -> dict[str, Provenance]:
    """Return the provenance of judges' answers in a study, by name. Judges without an endpoint or answers are left out.

    making : kinds of the calls that make tables, which a judge may send to an endpoint of their own
    """
    asking = {judge.pk: judge for judge in judges if judge.endpoint_id is not None}
    links = Link.objects.filter(judgment__run__study=study, judgment__run__judge__in=asking)
    by_key = _provenance(links, JUDGE, asking, making)
    return {judge.name: by_key[pk] for pk, judge in asking.items() if pk in by_key}


def settings_of_judges(names: Collection[str]) -> dict[str, str]:
    """Return a short hash of what each judge asks and how it is read, by name; names and addresses of endpoints play no part."""
    judges = Judge.objects.filter(name__in=names).select_related(*RELATED)
    return {judge.name: _settings_hash(judge) for judge in judges.order_by("name")}


def _settings_hash(judge: Judge) -> str:
    settings = model_to_dict(judge, exclude=("id", "name", "family", "created_at", *RELATED))
    endpoints = [endpoint.model for endpoint in judge.endpoints]
    if judge.is_jury:
        settings["params"] = {**judge.params, "members": sorted(settings_of_judges(judge.members).values())}
    prompt = judge.prompt_file and model_to_dict(judge.prompt_file, ("text", "system_prompt", "form", "parser"))
    text = json.dumps({**settings, "models": endpoints, "prompt": prompt}, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def provenance_of_run(run: JudgeRun, making: Collection[str]) -> Provenance | None:
    """Return the provenance of a run's answers, or `None` without stored ones. `making`: as of `provenance_of_judges`."""
    links = Link.objects.filter(judgment__run=run)
    return _provenance(links, RUN, {run.pk: run.judge}, making).get(run.pk)


def completions_with_cut_prompts(run_ids: Collection[int]) -> set[int]:
    """Return the completions of some runs whose prompts were probably cut, by the counts of each run."""
    return cut_answers(_answers(Link.objects.filter(judgment__run__in=run_ids), RUN))


def _provenance(
    links: QuerySet[Any], key: str, judges: Mapping[int, Judge], making: Collection[str]
) -> dict[int, Provenance]:
    counts: dict[int, dict[Origin, int]] = defaultdict(lambda: defaultdict(int))
    columns = (key, "completion__kind", *(f"completion__{name}" for name in ORIGIN))
    rows = links.order_by().values_list(*columns).annotate(answers=Count("completion", distinct=True))
    for of, kind, *origin, answers in rows:
        counts[of][Origin(asked_model(judges[of], kind, making), *origin)] += answers
    return provenance_by(counts, _answers(links, key)) if counts else {}


def _answers(links: QuerySet[Any], key: str) -> FloatArray:
    columns = (key, "completion_id", *(f"completion__{name}" for name in TOKENS))
    return number_columns(links.order_by().values_list(*columns).distinct(), *columns)


def asked_model(judge: Judge, kind: str, making: Collection[str]) -> str:
    """Return the model that a judge asks in calls of a kind."""
    endpoint = (judge.table_endpoint if kind in making else None) or judge.endpoint
    return endpoint.model if endpoint else ""

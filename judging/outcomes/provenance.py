"""Origins of the answers behind judges' verdicts: the models that gave them, and prompts that were probably cut."""

import hashlib
import json
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from django.db.models import Count, QuerySet
from django.forms.models import model_to_dict

from analysis.judges.prompt_tokens import cut_prompts
from analysis.types import BoolArray, FloatArray
from annotation.core.database.columns import number_columns
from annotation.models import Study
from judging.models import Judge, JudgeRun, Judgment

MOST_ORIGINS = 20  # of a judge are listed


class Origin(NamedTuple):
    """The requested model, and the model and provider in the response, or empty strings where it doesn't say."""

    asked: str
    model: str
    fingerprint: str
    provider: str


@dataclass(frozen=True)
class Provenance:
    """Origins of the answers behind a judge's verdicts, each answer counted once.

    origins : the most frequent ones with their numbers of answers; `others`: answers of further ones
    mixed   : one model was asked, and several models, builds or providers answered
    counted : answers whose prompt tokens are known, with an estimate of them; `cut`: those with too few of them
    """

    origins: tuple[tuple[Origin, int], ...]
    others: int
    mixed: bool
    counted: int
    cut: int

    @classmethod
    def of(cls, counts: Mapping[Origin, int], is_cut: BoolArray) -> "Provenance":
        """Return the provenance of answers, counted by origin, of which some have known prompts, cut or not."""
        ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
        listed, remaining = ordered[:MOST_ORIGINS], ordered[MOST_ORIGINS:]
        return cls(tuple(listed), sum(n for _, n in remaining), is_mixed(counts), len(is_cut), int(is_cut.sum()))

    @property
    def answers(self) -> int:
        """All answers."""
        return sum(n for _, n in self.origins) + self.others

    def as_json(self) -> dict[str, Any]:
        """Return everything for JSON."""
        return {
            "answers": self.answers,
            "answered_by": [{**origin._asdict(), "answers": n} for origin, n in self.origins],
            "answered_by_others": self.others,
            "mixed": self.mixed,
            "prompts": {"counted": self.counted, "cut": self.cut},
        }


def is_mixed(origins: Iterable[Origin]) -> bool:
    """Tell whether answers to one asked model name several models, builds of a model, or providers."""
    models: dict[tuple[str, ...], set[str]] = {}
    for origin in origins:
        for key, name in (
            ((origin.asked, "model"), origin.model),
            ((origin.asked, "fingerprint", origin.model), origin.fingerprint),
            ((origin.asked, "provider"), origin.provider),
        ):
            models.setdefault(key, set()).add(name)
    return any(len(names - {""}) > 1 for names in models.values())


def warnings_of(judge: str, provenance: Provenance) -> list[str]:
    """Return the warnings about a judge's answers for a terminal."""
    warnings = []
    if provenance.mixed:
        warnings.append(f"more than one model, build or provider answered for judge {judge}; their verdicts are mixed")
    if provenance.cut:
        warnings.append(
            f"{provenance.cut} of {provenance.counted} prompts of judge {judge} were probably cut: the endpoint counted too few tokens; "
            "check its context window"
        )
    return warnings


def provenance_by(counts: Mapping[int, Mapping[Origin, int]], answers: FloatArray) -> dict[int, Provenance]:
    """Return the provenance of each judge or run.

    counts  : answers by origin, by the judge's or run's key
    answers : (4, n) key, completion, prompt tokens, expected ones; each answer of a key once, NaN where a count is unknown
    """
    cuts = _cuts_by_key(answers)
    none_counted = np.zeros(0), np.zeros(0, dtype=bool)
    return {key: Provenance.of(origins, cuts.get(key, none_counted)[1]) for key, origins in counts.items()}


def _cuts_by_key(answers: FloatArray) -> dict[int, tuple[FloatArray, BoolArray]]:
    """Return of each key the completions with known counts, and whether their prompts were probably cut."""
    key, completion, tokens, expected = answers[:, ~np.isnan(answers[2:]).any(axis=0)]
    rows_by_key = {int(value): key == value for value in np.unique(key)}
    return {value: (completion[rows], cut_prompts(tokens[rows], expected[rows])) for value, rows in rows_by_key.items()}


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
    """Return a short hash of each judge's settings, by name. Names and addresses of endpoints play no part."""
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
    cuts = _cuts_by_key(_answers(Link.objects.filter(judgment__run__in=run_ids), RUN))
    return {int(number) for completion, is_cut in cuts.values() for number in completion[is_cut]}


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

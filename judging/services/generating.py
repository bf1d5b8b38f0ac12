"""Sampling a system's texts: what decides them, of which instances, and whether the study can take them."""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

from django.db import transaction
from django.db.models import Exists, OuterRef, QuerySet

from annotation.errors import UnknownName
from annotation.formats.lines import text_problem
from annotation.formats.study_file import LONGEST_SYSTEM
from annotation.models import Generation, Instance, Study
from annotation.version import VERSION
from judging.errors import BadSettings
from judging.judges import Call
from judging.models import Endpoint, GenerationRun
from judging.services.generating_templates import LONGEST, Wording
from judging.services.judges import RESERVED_PARAMS
from judging.services.requests import Requests
from judging.services.statements import parts

KIND = "generation"
SAMPLES, TEMPERATURE = 5, 0.5  # as in Ghosh et al. 2024, section 2.2
MOST_SAMPLES = 100
HOTTEST = 5.0
MOST_SEED = 2**31 - 1
OWN_OPTIONS = ("temperature", "top_p", "max_tokens")
CHUNK = 200
# What decides the texts, as `GenerationRun` has it, and how it is called where two differ.
DECIDING: Mapping[str, str] = {
    "base_url": "address",
    "model": "model",
    "template": "template",
    "system_prompt": "system prompt",
    "samples": "samples",
    "params": "parameters",
    "seed": "seed",
    "keep_refusals": "keeping of refusals",
}


@dataclass(frozen=True)
class Sampling:
    """How texts are sampled; `None` for what is left to the endpoint.

    params : further parameters, sent with each call; null leaves one out, the seed too
    keep_refusals : an answer that declines in words is a text like any other
    """

    endpoint: Endpoint
    template: Wording
    samples: int = SAMPLES
    temperature: float | None = TEMPERATURE
    top_p: float | None = None
    max_tokens: int | None = None
    seed: int = 0
    system_prompt: str = ""
    params: Mapping[str, Any] = field(default_factory=dict)
    keep_refusals: bool = False

    def check(self) -> None:
        """Refuse what can't be sent.

        Raises: BadSettings
        """
        if not 1 <= self.samples <= MOST_SAMPLES:
            raise BadSettings(f"samples must be from 1 to {MOST_SAMPLES}, got {self.samples}")
        if self.temperature is not None and not 0 <= self.temperature <= HOTTEST:
            raise BadSettings(f"the temperature must be from 0 to {HOTTEST:g}, got {self.temperature}")
        if self.top_p is not None and not 0 < self.top_p <= 1:
            raise BadSettings(f"top-p must be above 0 and at most 1, got {self.top_p}")
        if self.max_tokens is not None and self.max_tokens < 1:
            raise BadSettings(f"the longest answer must have 1 token or more, got {self.max_tokens}")
        if not 0 <= self.seed <= MOST_SEED:
            raise BadSettings(f"the seed must be from 0 to {MOST_SEED}, got {self.seed}")
        if self.system_prompt and (problem := text_problem(self.system_prompt, longest=LONGEST)):
            raise BadSettings(f"the system prompt {problem}")
        self._check_params()

    def _check_params(self) -> None:
        if reserved := RESERVED_PARAMS & set(self.params):
            raise BadSettings(f"these parameters are set by the engine: {', '.join(sorted(reserved))}")
        if named := [name for name in (*OWN_OPTIONS, "seed") if self.params.get(name) is not None]:
            raise BadSettings(f"{', '.join(named)}: set by the option of that name; null leaves one out")
        if not _sendable(self.params):
            raise BadSettings("a parameter holds a number or a text that can't be sent")

    @property
    def sent(self) -> dict[str, Any]:
        """The parameters of each call; `None` for what is left out."""
        own = {name: getattr(self, name) for name in OWN_OPTIONS if getattr(self, name) is not None}
        return {**own, **self.params}


def _sendable(value: Any) -> bool:
    if isinstance(value, Mapping):
        return all(_sendable(part) for entry in value.items() for part in entry)
    if isinstance(value, list):
        return all(map(_sendable, value))
    if isinstance(value, str):
        return text_problem(value, may_be_blank=True) is None
    return not isinstance(value, float) or math.isfinite(value)


@dataclass(frozen=True)
class Where:
    """Which instances are asked about: all, those of a data set, or some; `limit`: at most so many this time."""

    dataset: str = ""
    instances: tuple[str, ...] = ()
    limit: int | None = None


@dataclass(frozen=True)
class Standing:
    """How the chosen instances stand: with texts of the system, without a source to ask about, and still open."""

    chosen: int
    there: int
    without_source: int
    open: int


class SampleRequests(Requests):
    """Makes the requests of a run; each draw of a question has a seed and a name in the cache of its own."""

    def __init__(self, run: GenerationRun) -> None:
        self.base_url = run.base_url
        self.model = run.model
        self.seed = run.seed
        self.defaults = {}
        self.params = dict(run.params)


def messages_of(run: GenerationRun, source: str) -> list[dict[str, str]]:
    """Return what is asked about a source."""
    asked = [{"role": "user", "content": Wording(run.template_version, run.template).fill(source)}]
    return [{"role": "system", "content": run.system_prompt}, *asked] if run.system_prompt else asked


def calls_of(run: GenerationRun, source: str, read: Any = None) -> list[Call]:
    """Return the draws of one instance."""
    messages = messages_of(run, source)
    return [Call(KIND, messages, read, draw=draw, optional=True, attempts=1) for draw in range(run.samples)]


def run_to_be(study: Study, name: str, sampling: Sampling, *, by: str = "") -> GenerationRun:
    """Return the run of these settings, the stored one where there is one; stores nothing.

    Raises: BadSettings for settings that can't be sent, or when the study has other texts of a system of this name.
    """
    sampling.check()
    if problem := text_problem(name, longest=LONGEST_SYSTEM):
        raise BadSettings(f"the system's name {problem}")
    wanted = _made(study, name, sampling, by)
    known = GenerationRun.objects.filter(study=study, name=name).first()
    if known is not None and known.settings_key == wanted.settings_key:
        return known
    if Generation.objects.filter(system__study=study, system__name=name).exists():
        raise BadSettings(_taken(known, wanted))
    if known is not None:
        wanted.pk = known.pk  # nothing came of the settings that it had
        for kept in ("calls", "cached", "prompt_tokens", "completion_tokens", "cost", "longest", "created_at"):
            setattr(wanted, kept, getattr(known, kept))
    return wanted


@transaction.atomic
def start_generating(study: Study, name: str, sampling: Sampling, *, by: str = "") -> GenerationRun:
    """Return the stored run of these settings, made when it is new.

    Raises: as `run_to_be`.
    """
    Study.objects.select_for_update().get(pk=study.pk)
    run = run_to_be(study, name, sampling, by=by)
    if run._state.adding:
        run._state.adding = run.pk is None
        run.save()
    return run


def _made(study: Study, name: str, sampling: Sampling, by: str) -> GenerationRun:
    sent = sampling.sent
    run = GenerationRun(
        study=study,
        name=name,
        endpoint=sampling.endpoint,
        base_url=sampling.endpoint.base_url,
        model=sampling.endpoint.model,
        template=sampling.template.text,
        template_version=sampling.template.version,
        system_prompt=sampling.system_prompt,
        samples=sampling.samples,
        temperature=sent.get("temperature"),
        top_p=sent.get("top_p"),
        params=sent,
        seed=sampling.seed,
        keep_refusals=sampling.keep_refusals,
        by=by[:150],
        currency=sampling.endpoint.currency,
        software_version=VERSION,
    )
    told = json.dumps([getattr(run, part) for part in DECIDING], sort_keys=True)
    run.settings_key = sha256(told.encode()).hexdigest()
    return run


def _taken(known: GenerationRun | None, wanted: GenerationRun) -> str:
    """Say why a system's name can't be had."""
    if known is None:
        return f"system {wanted.name} has texts that were read from a file: choose another system name"
    short = {"template": "template_version"}
    told = []
    for part, called in DECIDING.items():
        before, after = getattr(known, part), getattr(wanted, part)
        if before == after:
            continue
        if part == "params":
            names = sorted(name for name in {*before, *after} if before.get(name) != after.get(name))
            told += [f"{one} {_written(before.get(one))}, not {_written(after.get(one))}" for one in names]
        elif part == "system_prompt":
            told.append(f"another {called}")
        else:
            shown = short.get(part, part)
            told.append(f"{called} {getattr(known, shown)}, not {getattr(wanted, shown)}")
    return (
        f"system {wanted.name} has texts that were sampled with other settings ({'; '.join(told)}): "
        "choose another system name, one for each model and setting"
    )


def _written(value: Any) -> str:
    return "left out" if value is None else json.dumps(value, ensure_ascii=False)


def check_where(study: Study, where: Where) -> None:
    """Refuse names of a data set or of instances that the study doesn't have.

    Raises: UnknownName; BadSettings for a limit that is none
    """
    if where.limit is not None and where.limit < 1:
        raise BadSettings(f"the limit must be 1 or more, got {where.limit}")
    if where.dataset and not study.instances.filter(dataset=where.dataset).exists():
        names = study.instances.order_by("dataset").values_list("dataset", flat=True).distinct()
        raise UnknownName(
            f"study {study.slug} has no data set {where.dataset}; it has: {', '.join(names[:20]) or 'none yet'}"
        )
    wanted = list(dict.fromkeys(where.instances))
    known: set[str] = set()
    for part in parts(wanted):
        known.update(study.instances.filter(instance_id__in=part).order_by().values_list("instance_id", flat=True))
    if unknown := [one for one in wanted if one not in known]:
        more = f" and {len(unknown) - 5} more" if len(unknown) > 5 else ""
        raise UnknownName(f"study {study.slug} has no instance {', '.join(unknown[:5])}{more}")


def standing_of(study: Study, name: str, where: Where) -> Standing:
    """Count the chosen instances by what is to be done with them."""
    chosen = there = empty = 0
    for part in _parts_of(_chosen(study, where), where):
        chosen += part.count()
        there += part.filter(_has(name)).count()
        empty += part.exclude(_has(name)).filter(source="").count()
    still = chosen - there - empty
    return Standing(chosen, there, empty, still if where.limit is None else min(still, where.limit))


def open_instances(study: Study, name: str, where: Where) -> Iterator[tuple[int, str, str]]:
    """Yield primary key, id and source of the instances that have no text of the system yet, in the study's order."""
    left = where.limit
    wanted = frozenset(where.instances)
    last = -1
    rows = _chosen(study, where).exclude(_has(name)).exclude(source="").order_by("position")
    while left is None or left > 0:
        chunk = list(rows.filter(position__gt=last).values_list("position", "pk", "instance_id", "source")[:CHUNK])
        for position, pk, instance_id, source in chunk:
            last = position
            if (not wanted or instance_id in wanted) and (left is None or left > 0):
                left = None if left is None else left - 1
                yield pk, instance_id, source
        if len(chunk) < CHUNK:
            return


def _chosen(study: Study, where: Where) -> QuerySet[Instance]:
    rows = study.instances.all()
    return rows.filter(dataset=where.dataset) if where.dataset else rows


def _parts_of(rows: QuerySet[Instance], where: Where) -> Iterator[QuerySet[Instance]]:
    if not where.instances:
        yield rows
        return
    for part in parts(list(dict.fromkeys(where.instances))):
        yield rows.filter(instance_id__in=part)


def _has(name: str) -> Exists:
    """Match instances with texts of a system."""
    return Exists(Generation.objects.filter(instance=OuterRef("pk"), system__name=name).order_by())


def left_out_lines(run: GenerationRun, most: int = 20) -> Sequence[str]:
    """Name the instances that the last time left out, and why."""
    lines = [f"{one['instance']}: {one['why']}" for one in run.left_out[:most]]
    more = run.left_out_count - len(lines)
    return [*lines, f"and {more:,} more"] if more > 0 else lines

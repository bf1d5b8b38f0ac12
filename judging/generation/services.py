"""The settings, requests and runs for sampling a system's texts."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from decimal import Decimal
from functools import partial
from hashlib import sha256
from typing import Any

from django.db import transaction

from annotation.core.files.lines import text_problem
from annotation.core.version import VERSION
from annotation.importing.formats.study_file import LONGEST_SYSTEM
from annotation.jobs.work import queue_job
from annotation.models import Generation, Study
from judging.calls.cases import AnyProcedure, Case, Cell
from judging.calls.requests import Requests
from judging.calls.results import read_reply
from judging.core.constants import RESERVED_PARAMS
from judging.core.errors import BadSettings, UnparsedVerdict
from judging.generation.instances import InstanceSelection, check_selection, count_instances
from judging.generation.prompt_templates import LONGEST, Wording
from judging.generation.sampled_text import read_text
from judging.jobs.bounds import set_bounds
from judging.methods import Call, Reply
from judging.models import Endpoint, GenerationRun

KIND = "generation"
SAMPLES, TEMPERATURE = 5, 0.5  # as in Ghosh et al. 2024, section 2.2
MOST_SAMPLES = 100
MAX_TEMPERATURE = 5.0
OWN_OPTIONS = ("temperature", "top_p", "max_tokens")
# The fields of `GenerationRun` that determine the texts, with their names in messages.
SETTING_FIELDS: Mapping[str, str] = {
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
    """Sampling settings, or `None` leaves a value to the endpoint.

    params : further parameters, sent with each call; null leaves one out, the seed too
    keep_refusals : store refusals in words as texts
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
        if self.top_p is not None and not 0 < self.top_p <= 1:
            raise BadSettings(f"top-p must be above 0 and at most 1, got {self.top_p}")
        if self.system_prompt and (problem := text_problem(self.system_prompt, "the system prompt", longest=LONGEST)):
            raise BadSettings(problem.text)
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
        """The parameters of each call. Those that are `None` are left out."""
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


class SampleRequests(Requests):
    """Makes the requests of a run. Each draw has its own seed and cache key."""

    def __init__(self, run: GenerationRun) -> None:
        self.base_url = run.base_url
        self.model = run.model
        self.seed = run.seed
        self.defaults = {}
        self.params = dict(run.params)


def case_of(run: GenerationRun, pk: int, source: str) -> Case:
    """Return the procedure for one instance: a call for each sample, all in one round."""
    messages = [{"role": "user", "content": Wording(run.template_version, run.template).fill(source)}]
    if run.system_prompt:
        messages.insert(0, {"role": "system", "content": run.system_prompt})
    read = partial(read_text, keep_refusals=run.keep_refusals)
    return Case(Cell(pk), _at_once([_call(messages, read, draw) for draw in range(run.samples)]))


def _call(messages: Sequence[Mapping[str, str]], read: Any, draw: int = 0) -> Call:
    return Call(KIND, messages, read, draw=draw, optional=True, attempts=1)


def _at_once(calls: Sequence[Call]) -> AnyProcedure:
    return (yield calls)


def is_text(run: GenerationRun, reply: Reply) -> bool:
    """Tell whether a reply is a text that can be stored."""
    try:
        read_reply(_call([], partial(read_text, keep_refusals=run.keep_refusals)), reply)
    except UnparsedVerdict:
        return False
    return True


def build_run(study: Study, name: str, sampling: Sampling, *, by: str = "") -> GenerationRun:
    """Return the run with these settings, the stored one if it exists. Stores nothing.

    Raises: BadSettings for invalid settings, or if the study has other texts of a system of this name.
    """
    sampling.check()
    if problem := text_problem(name, "the system's name", longest=LONGEST_SYSTEM):
        raise BadSettings(problem.text)
    run = _made(study, name, sampling, by)
    existing = GenerationRun.objects.filter(study=study, name=name).first()
    if existing is not None and existing.settings_key == run.settings_key:
        return existing
    if Generation.objects.filter(system__study=study, system__name=name).exists():
        raise BadSettings(_name_taken(existing, run))
    if existing is not None:
        run.pk = existing.pk  # it has no texts: replace its settings
        for field in ("calls", "cached", "prompt_tokens", "completion_tokens", "cost", "longest", "created_at"):
            setattr(run, field, getattr(existing, field))
    return run


@transaction.atomic
def start_generating(
    study: Study,
    name: str,
    sampling: Sampling,
    *,
    selection: InstanceSelection | None = None,
    in_flight: int = 8,
    max_cost: Decimal | None = None,
    by: str = "",
) -> GenerationRun:
    """Return the run with these settings, stored if it is new, to sample the texts of the selected instances.

    max_cost : of the whole run, its cost so far included, in the endpoint's currency
    Raises: as `build_run` and `check_selection`; BadSettings for bounds that can't be kept
    """
    selection = selection or InstanceSelection()
    check_selection(study, selection)
    Study.objects.select_for_update().get(pk=study.pk)
    run = build_run(study, name, sampling, by=by)
    if run._state.adding:
        run._state.adding = run.pk is None
        run.save()
    run.selection = asdict(selection)
    run.save(update_fields=["selection"])
    set_bounds(run, in_flight=in_flight, max_cost=max_cost)
    return run


@transaction.atomic
def queue_generating(study: Study, name: str, sampling: Sampling, *, selection: InstanceSelection, **more: Any) -> bool:
    """Queue the sampling of a system's texts, or False if that is queued or running. `more`: as for `start_generating`.

    Raises: as `start_generating`; BadSettings if there is nothing to sample
    """
    run = start_generating(study, name, sampling, selection=selection, **more)
    if count_instances(study, name, selection).open == 0:
        raise BadSettings(f"nothing to sample: every chosen instance has texts of {name}, or no source")
    return queue_job(run)


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
    settings_text = json.dumps([getattr(run, part) for part in SETTING_FIELDS], sort_keys=True)
    run.settings_key = sha256(settings_text.encode()).hexdigest()
    return run


def _name_taken(existing: GenerationRun | None, run: GenerationRun) -> str:
    """Say why a system's name can't be used."""
    if existing is None:
        return f"system {run.name} has imported texts: choose another system name"
    short = {"template": "template_version"}
    differences = []
    for part, called in SETTING_FIELDS.items():
        before, after = getattr(existing, part), getattr(run, part)
        if before == after:
            continue
        if part == "params":
            names = sorted(name for name in {*before, *after} if before.get(name) != after.get(name))
            differences += [f"{name} {_written(before.get(name))}, not {_written(after.get(name))}" for name in names]
        elif part == "system_prompt":
            differences.append(f"another {called}")
        else:
            label = short.get(part, part)
            differences.append(f"{called} {getattr(existing, label)}, not {getattr(run, label)}")
    return (
        f"system {run.name} has texts that were sampled with other settings ({'; '.join(differences)}): "
        "choose another system name"
    )


def _written(value: Any) -> str:
    return "left out" if value is None else json.dumps(value, ensure_ascii=False)


def left_out_lines(run: GenerationRun, limit: int = 20) -> Sequence[str]:
    """List the instances that the last session left out, with the reasons."""
    lines = [f"{item['instance']}: {item['why']}" for item in run.left_out[:limit]]
    more = run.left_out_count - len(lines)
    return [*lines, f"and {more:,} more"] if more > 0 else lines

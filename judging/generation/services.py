"""The settings and runs for sampling a system's texts."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from decimal import Decimal
from hashlib import sha256
from typing import Any

from django.db import transaction

from annotation.core.files.lines import text_problem
from annotation.core.version import VERSION
from annotation.importing.formats.study_file import LONGEST_SYSTEM
from annotation.models import Generation, Study
from judging.core.constants import RESERVED_PARAMS
from judging.core.errors import BadSettings
from judging.generation.instances import InstanceSelection, check_selection
from judging.generation.prompt_templates import LONGEST, Wording
from judging.jobs.bounds import set_bounds
from judging.models import Endpoint, GenerationRun

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


def build_run(study: Study, name: str, sampling: Sampling, *, by: str = "") -> GenerationRun:
    """Return the run with these settings, the stored one if it exists. Stores nothing.

    Raises: BadSettings for invalid settings, or if the study has other texts of a system of this name.
    """
    sampling.check()
    if problem := text_problem(name, "the system's name", longest=LONGEST_SYSTEM):
        raise BadSettings(problem.text)
    sent, endpoint = sampling.sent, sampling.endpoint
    run = GenerationRun(
        study=study,
        name=name,
        endpoint=endpoint,
        base_url=endpoint.base_url,
        model=endpoint.model,
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
        currency=endpoint.currency,
        software_version=VERSION,
    )
    settings_text = json.dumps([getattr(run, part) for part in SETTING_FIELDS], sort_keys=True)
    run.settings_key = sha256(settings_text.encode()).hexdigest()
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


def _name_taken(existing: GenerationRun | None, run: GenerationRun) -> str:
    """Say why a system's name can't be used."""
    if existing is None:
        return f"system {run.name} has imported texts: choose another system name"
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
        elif part == "template":
            differences.append(f"{called} {existing.template_version}, not {run.template_version}")
        else:
            differences.append(f"{called} {before}, not {after}")
    return (
        f"system {run.name} has texts that were sampled with other settings ({'; '.join(differences)}): "
        "choose another system name"
    )


def _written(value: Any) -> str:
    return "left out" if value is None else json.dumps(value, ensure_ascii=False)


def left_out_lines(run: GenerationRun, limit: int = 20) -> Sequence[str]:
    """List the instances that the last session left out, with the reasons."""
    lines = [f"{item['instance']}: {item['why']}" for item in run.instances_left_out[:limit]]
    more = run.left_out_count - len(lines)
    return [*lines, f"and {more:,} more"] if more > 0 else lines

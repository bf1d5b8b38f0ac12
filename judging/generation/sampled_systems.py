"""The sampling of a system's texts, for comparisons between temperatures."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Count, QuerySet

from annotation.models import Generation, Study
from judging.models import GenerationRun


@dataclass(frozen=True)
class SampledAt:
    """A system with sampled texts.

    temperature : `None`: the endpoint's own
    like        : equal for systems that differ only in temperature or seed
    """

    name: str
    model: str
    temperature: float | None
    like: tuple[str, ...]

    @classmethod
    def of(cls, run: Mapping[str, Any]) -> "SampledAt":
        """Read it from the fields of a generation run."""
        params = {name: value for name, value in run["params"].items() if name not in ("temperature", "seed")}
        settings = (run["base_url"], run["model"], run["template"], run["system_prompt"], repr(sorted(params.items())))
        return cls(run["name"], run["model"], run["temperature"], settings)


FIELDS = ("name", "model", "temperature", "params", "base_url", "template", "system_prompt")  # that `of` reads


def temperatures_of(study: Study) -> dict[str, SampledAt]:
    """Return how the texts of a study's sampled systems were made, by the systems' names."""
    return {row["name"]: SampledAt.of(row) for row in runs_of(study).values(*FIELDS)}


def runs_of(study: Study) -> QuerySet[GenerationRun]:
    """Return a study's runs, oldest first."""
    return GenerationRun.objects.filter(study=study).select_related("endpoint").order_by("pk")


def run_by_system(study: Study) -> dict[int, GenerationRun]:
    """Map the primary keys of systems with sampled texts to their runs."""
    systems = dict(study.systems.order_by().values_list("name", "pk"))
    return {systems[run.name]: run for run in runs_of(study) if run.name in systems}


def instances_with_texts(study: Study) -> dict[str, int]:
    """Count the instances with texts of each sampled system, by name."""
    names = runs_of(study).order_by().values("name")
    rows = Generation.objects.filter(system__study=study, system__name__in=names, index=0).order_by()
    return dict(rows.values_list("system__name").annotate(Count("pk")))


def as_dict(run: GenerationRun) -> dict[str, Any]:
    """Return a run for JSON."""
    plain = (
        *("name", "base_url", "model", "template", "template_version", "system_prompt", "samples", "temperature"),
        *("top_p", "params", "seed", "keep_refusals", "by", "calls", "cached", "prompt_tokens", "completion_tokens"),
        *("currency", "cut", "left_out_count", "software_version"),
    )
    return {
        "endpoint": run.endpoint.name,
        **{name: getattr(run, name) for name in plain},
        "left_out": run.instances_left_out,
        "message": run.message.text,
        "message_code": run.message.code,
        "cost": None if run.cost is None else float(run.cost),
        "created_at": run.created_at.isoformat(),
        "ended_at": run.ended_at and run.ended_at.isoformat(),
    }


def settings_lines(run: GenerationRun) -> Sequence[str]:
    """Describe a run's settings for the terminal."""
    params = ", ".join(f"{name}={value}" for name, value in run.params.items())
    return [
        f"{run.name}: {run.samples} texts of each instance, {run.model} at {run.endpoint.name}",
        f"template {run.template_version}; {params or 'no parameters'}; seed {run.seed}"
        + ("; with a system prompt" if run.system_prompt else "")
        + ("; refusals are kept" if run.keep_refusals else ""),
    ]

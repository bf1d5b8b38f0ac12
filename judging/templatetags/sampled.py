"""The sampling of a system's texts, for pages."""

from django import template

from annotation.models import Study
from judging.generation.sampled_systems import run_by_system
from judging.models import GenerationRun

register = template.Library()


@register.simple_tag
def sampled_systems(study: Study) -> dict[int, GenerationRun]:
    """Return how the study's systems were sampled, by their primary keys. Those of files are not in it."""
    return run_by_system(study)


@register.filter
def of_system(runs: dict[int, GenerationRun], system: int) -> GenerationRun | None:
    """Return how a system was sampled, or an empty text for a system of a file."""
    return runs.get(system)

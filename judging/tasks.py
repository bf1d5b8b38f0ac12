"""The former import paths of tasks, for those that were queued under them."""

from judging.aspects.tasks import distil_aspects
from judging.endpoints.tasks import probe
from judging.generation.tasks import generate_texts
from judging.runs.tasks import execute_run

__all__ = ["distil_aspects", "execute_run", "generate_texts", "probe"]

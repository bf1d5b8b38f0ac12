"""The path under which separability was queued before it had a room: a worker finds the task here."""

from annotation.separability.tasks import compute_separability_of

__all__ = ["compute_separability_of"]

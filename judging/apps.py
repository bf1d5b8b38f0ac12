"""App configuration."""

from django.apps import AppConfig

from annotation.separability.model_sources import register_module
from annotation.study_pages.later_steps import LATER


class JudgingConfig(AppConfig):
    """LLMs rating: endpoints, judges, runs, completions, judgments."""

    name = "judging"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Offer the models of endpoints to separability, and the judges' step to a study's page, which stand below."""
        register_module("judging.embeddings.similarity_models")
        LATER.append("judging.runs.study_step.judges_step")

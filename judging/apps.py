"""App configuration."""

from django.apps import AppConfig

from annotation.separability.model_sources import register_module


class JudgingConfig(AppConfig):
    """LLMs rating: endpoints, judges, runs, completions, judgments."""

    name = "judging"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Offer the models of endpoints to separability, which stands below and knows of none."""
        register_module("judging.embeddings.similarity_models")

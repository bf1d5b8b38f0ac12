"""App configuration."""

from django.apps import AppConfig

from annotation.model_sources import offer_later


class JudgingConfig(AppConfig):
    """LLMs rating: endpoints, judges, runs, completions, judgments."""

    name = "judging"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Offer the models of endpoints to separability, which stands below and knows of none."""
        offer_later("judging.services.embedding_models")

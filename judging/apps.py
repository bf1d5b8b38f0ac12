"""App configuration."""

from importlib import import_module

from django.apps import AppConfig


class JudgingConfig(AppConfig):
    """LLMs rating: endpoints, judges, runs, completions, judgments."""

    name = "judging"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Offer the models of endpoints to separability, which stands below and knows of none."""
        import_module("judging.services.embedding_models").offer()

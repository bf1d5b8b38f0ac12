"""App configuration."""

from importlib import import_module

from django.apps import AppConfig


class AnnotationConfig(AppConfig):
    """People rating: studies, instances, pairs, batches, HITs, assignments, ratings."""

    name = "annotation"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Register the adapters of the channels, which need the models."""
        import_module("annotation.recruitment")

"""App configuration."""

from importlib import import_module

from django.apps import AppConfig
from django.db.backends.signals import connection_created

from annotation.sqlite_statistics import count_when_grown


class AnnotationConfig(AppConfig):
    """People rating: studies, instances, pairs, batches, HITs, assignments, ratings."""

    name = "annotation"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Register the adapters of the channels, which need the models, and who looks after SQLite's tables."""
        import_module("annotation.recruitment")
        connection_created.connect(count_when_grown, dispatch_uid="count_when_grown")

"""App configuration."""

from importlib import import_module

from django.apps import AppConfig
from django.db.backends.signals import connection_created

from annotation.core.database.prepared import log_slow_queries
from annotation.core.database.sqlite_statistics import count_when_grown


class AnnotationConfig(AppConfig):
    """Rating by people."""

    name = "annotation"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Register system checks, and receivers for new connections."""
        import_module("annotation.core.system_checks")
        connection_created.connect(log_slow_queries, dispatch_uid="log_slow_queries")
        connection_created.connect(count_when_grown, dispatch_uid="count_when_grown")

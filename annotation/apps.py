"""App configuration."""

from django.db.backends.signals import connection_created

from annotation.core.database.prepared import log_slow_queries
from annotation.core.database.sqlite_statistics import count_when_grown
from annotation.core.study_apps import StudyApp


class AnnotationConfig(StudyApp):
    """Rating by people."""

    name = "annotation"
    default = True

    def ready(self) -> None:
        """Register system checks, and receivers for new connections."""
        from annotation.core import system_checks  # noqa: F401  # registered when loaded

        connection_created.connect(log_slow_queries, dispatch_uid="log_slow_queries")
        connection_created.connect(count_when_grown, dispatch_uid="count_when_grown")

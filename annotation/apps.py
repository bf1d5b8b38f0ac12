"""App configuration."""

from importlib import import_module

from django.apps import AppConfig
from django.db.backends.signals import connection_created

from annotation.core.database.slow_queries import log_slow_queries
from annotation.core.database.sqlite_statistics import count_when_grown
from annotation.privacy.personal_data import FORGET_RESULTS

CHANNEL_ADAPTERS = (  # modules of annotation.recruitment
    "accounts",
    "anonymous",
    "mturk.adapter",
    "prolific.adapter",
)
MAILS = ("members.mails", "recruitment.invitation_mails")  # the texts of mails


class AnnotationConfig(AppConfig):
    """People rating: studies, instances, pairs, batches, HITs, assignments, ratings."""

    name = "annotation"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Register system checks, texts of mails, adapters of channels and what privacy forgets, which need the models, and receivers for new connections."""
        FORGET_RESULTS.append("annotation.importing.upload_jobs.forget_uploads")
        import_module("annotation.core.system_checks")
        for mails in MAILS:
            import_module(f"annotation.{mails}")
        for adapter in CHANNEL_ADAPTERS:
            import_module(f"annotation.recruitment.{adapter}")
        connection_created.connect(log_slow_queries, dispatch_uid="log_slow_queries")
        connection_created.connect(count_when_grown, dispatch_uid="count_when_grown")

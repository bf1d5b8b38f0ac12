"""App configuration."""

from django.apps import AppConfig
from django.db.models.signals import post_migrate, pre_migrate

from annotation.importing.further_kinds import AFTER_REMOVAL


class ReportingConfig(AppConfig):
    """Findings from people's and judges' verdicts: pages, charts, exports."""

    name = "reporting"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Register what names raters and goes with them (snapshots, files), and what counts changes of data."""
        from annotation.privacy.erasing import FORGET_RESULTS  # models are there now
        from reporting.core.data_version import create_triggers, drop_triggers

        FORGET_RESULTS.extend(
            ("reporting.findings.snapshots.remove_snapshots", "reporting.downloads.jobs.remove_files")
        )
        AFTER_REMOVAL.append("reporting.core.data_version.forget_removed")

        pre_migrate.connect(drop_triggers, sender=self)
        post_migrate.connect(create_triggers, sender=self)

"""App configuration."""

from typing import TYPE_CHECKING

from django.db.models.signals import post_migrate, pre_migrate

from annotation.core.study_apps import StudyApp

if TYPE_CHECKING:
    from annotation.models import Study


class ReportingConfig(StudyApp):
    """Findings from people's and judges' verdicts: pages, charts, exports."""

    name = "reporting"
    default = True

    def ready(self) -> None:
        """Register what counts changes of data."""
        from reporting.core.data_version import create_triggers, drop_triggers  # models are there now

        pre_migrate.connect(drop_triggers, sender=self)
        post_migrate.connect(create_triggers, sender=self)

    def after_removal(self) -> None:
        """Delete the counts of deleted studies."""
        from reporting.core.data_version import forget_removed

        forget_removed()

    def forget_results(self, study: "Study") -> None:
        """Delete findings and files, which may name raters."""
        from reporting.downloads.jobs import remove_files
        from reporting.findings.snapshots import remove_snapshots

        remove_snapshots(study)
        remove_files(study)

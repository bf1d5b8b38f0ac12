"""App configuration."""

from django.apps import AppConfig

from annotation.privacy.personal_data import FORGET_RESULTS


class ReportingConfig(AppConfig):
    """Findings from people's and judges' verdicts: pages, charts, exports."""

    name = "reporting"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Have snapshots and files forgotten with the raters whom they name, by privacy, which stands below and knows of none."""
        from reporting.downloads.jobs import remove_files  # needs the models, which are loaded by now

        FORGET_RESULTS.append(lambda study: study.findings_snapshots.all().delete())
        FORGET_RESULTS.append(remove_files)

"""App configuration."""

from django.apps import AppConfig

from annotation.privacy.personal_data import FORGET_RESULTS


class ReportingConfig(AppConfig):
    """Findings from people's and judges' verdicts: pages, charts, exports."""

    name = "reporting"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Have snapshots forgotten with the raters whom they name, by privacy, which stands below and knows of none."""
        FORGET_RESULTS.append(lambda study: study.findings_snapshots.all().delete())

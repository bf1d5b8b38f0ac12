"""App configuration."""

from django.apps import AppConfig


class ReportingConfig(AppConfig):
    """Findings from people's and judges' verdicts: pages, charts, exports."""

    name = "reporting"
    default_auto_field = "django.db.models.BigAutoField"

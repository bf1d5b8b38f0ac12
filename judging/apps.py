"""App configuration."""

from django.apps import AppConfig

from annotation.importing.further_kinds import AFTER_REMOVAL, BEFORE_REMOVAL, LEVELS


class JudgingConfig(AppConfig):
    """Rating by language models."""

    name = "judging"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Register texts of stored reasons, and tables whose rows imports may store."""
        from judging.core import stops  # noqa: F401  # it declares them when it is loaded

        LEVELS.append("judging.importing.services.LEVELS")
        BEFORE_REMOVAL.append("judging.importing.services.drop_completions")
        AFTER_REMOVAL.append("judging.importing.services.drop_unused_judges")

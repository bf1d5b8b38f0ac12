"""App configuration."""

from importlib import import_module

from django.apps import AppConfig

from annotation.importing.further_kinds import AFTER_REMOVAL, BEFORE_REMOVAL, LEVELS


class JudgingConfig(AppConfig):
    """Rating by language models."""

    name = "judging"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Register texts of stored reasons, and tables whose rows imports may store."""
        import_module("judging.core.stops")
        LEVELS.append("judging.importing.services.LEVELS")
        BEFORE_REMOVAL.append("judging.importing.services.drop_completions")
        AFTER_REMOVAL.append("judging.importing.services.drop_unused_judges")

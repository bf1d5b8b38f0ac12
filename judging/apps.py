"""App configuration."""

from django.apps import AppConfig

from annotation.importing.further_kinds import AFTER_REMOVAL, FURTHER, LEVELS


class JudgingConfig(AppConfig):
    """LLMs rating: endpoints, judges, runs, completions, judgments."""

    name = "judging"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Register kinds of files, which the importing below reads."""
        FURTHER.update(
            dict.fromkeys(("alpacaeval", "battles", "label-studio"), "judging.importing.elsewhere.import_upload")
        )
        LEVELS.append("judging.importing.services.LEVELS")
        AFTER_REMOVAL.append("judging.importing.services.drop_unused_judges")
        FURTHER["judgments"] = "judging.importing.services.import_upload"

"""App configuration."""

from typing import TYPE_CHECKING

from annotation.core.study_apps import StudyApp

if TYPE_CHECKING:
    from collections.abc import Sequence

    from annotation.importing.staging import Level
    from annotation.models import Study


class JudgingConfig(StudyApp):
    """Rating by language models."""

    name = "judging"
    default = True

    def ready(self) -> None:
        """Register texts of stored reasons."""
        from judging.core import stops  # noqa: F401  # it declares them when it is loaded

    def staged_levels(self) -> "Sequence[Level]":
        """Return the tables of imported judgments."""
        from judging.importing.services import LEVELS

        return LEVELS

    def before_removal(self, study: "Study") -> None:
        """Delete the answers of endpoints that only this study uses."""
        from judging.importing.services import drop_completions

        drop_completions(study)

    def after_removal(self) -> None:
        """Delete the judges of imports that were not finished."""
        from judging.importing.services import drop_unused_judges

        drop_unused_judges()

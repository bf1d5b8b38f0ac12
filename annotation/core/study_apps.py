"""Base class of the apps whose rows belong to studies, for what the rooms of `annotation` leave to the apps above."""

from collections.abc import Iterator, Sequence
from typing import Any

from django.apps import AppConfig, apps


class StudyApp(AppConfig):
    """An app with rows of studies. Its methods import what they use: models can't be imported yet when apps are."""

    default = False  # no app is configured by the base class
    default_auto_field = "django.db.models.BigAutoField"

    def staged_levels(self) -> Sequence[Any]:
        """Return the tables whose rows an import may stage, parents first."""
        return ()

    def before_removal(self, study: Any) -> None:
        """Delete further rows of a study whose rows are about to be deleted."""

    def after_removal(self) -> None:
        """Delete what is left over after rows of a study were deleted."""

    def forget_results(self, study: Any) -> None:
        """Delete results of a study that may name an erased rater."""


def study_apps() -> Iterator[StudyApp]:
    """Iterate over the installed apps with rows of studies."""
    return (app for app in apps.get_app_configs() if isinstance(app, StudyApp))

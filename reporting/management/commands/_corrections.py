"""The common part of commands that correct a study."""

from typing import Any, ClassVar

from annotation.management.commands._base import StudyCommand, arguments_of, filled_by
from annotation.management.commands._settings import FORMAT
from annotation.models import Study
from reporting.corrections.declarations import Correction


class CorrectionCommand(StudyCommand):
    """A command that fills the form of a correction."""

    form: ClassVar[type[Correction]]

    def __init_subclass__(cls) -> None:
        cls.arguments = (*arguments_of(cls.form), FORMAT)

    def run(self, study: Study, options: dict[str, Any]) -> None:
        values = {name: options[name] for name in self.form.base_fields}
        form = filled_by(self.form, values, study=study)
        effects = form.effects()
        message = "" if form.cleaned_data["preview"] else form.run(by=None)
        document = {
            "study": study.slug,
            "message": message,
            "effects": [{"count": effect.count, "text": effect.text} for effect in effects],
        }
        self.say_result([*map(str, effects), message], document, options)

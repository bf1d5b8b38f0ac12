"""The common part of commands that correct a study."""

from typing import Any, ClassVar

from annotation.management.commands._base import StudyCommand, arguments_of, filled_by
from annotation.management.commands._settings import FORMAT
from annotation.models import Study
from reporting.corrections.declarations import Correction, corrected


class CorrectionCommand(StudyCommand):
    """A command that fills the form of a correction."""

    form: ClassVar[type[Correction]]

    def __init_subclass__(cls) -> None:
        cls.arguments = (*arguments_of(cls.form), FORMAT)

    def run(self, study: Study, options: dict[str, Any]) -> None:
        values = {name: options[name] for name in self.form.base_fields}
        form = filled_by(self.form, values, study=study)
        effects, document = corrected(form, None)
        self.say_result([*map(str, effects), document["message"]], {"study": study.slug, **document}, options)

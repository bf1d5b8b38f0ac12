"""The common part of commands that correct a study."""

from typing import Any, ClassVar

from django.core.management.base import CommandParser

from annotation.management.commands._base import TandemCommand, argument, arguments_of, filled_by
from annotation.management.commands._settings import FORMAT
from annotation.studies.services import find_study
from reporting.corrections.declarations import Correction


class CorrectionCommand(TandemCommand):
    """A command that fills the form of a correction."""

    form: ClassVar[type[Correction]]

    def add_arguments(self, parser: CommandParser) -> None:
        for add in (argument("study", metavar="STUDY"), *arguments_of(self.form), FORMAT):
            add(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        study = find_study(options["study"])
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

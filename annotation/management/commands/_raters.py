"""Shared by commands that decide about a rater, or about one of their HITs."""

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from django import forms
from django.utils import timezone

from annotation.core.errors import UnknownName
from annotation.management.commands._base import TandemCommand, argument, arguments_of, filled_by, one_of
from annotation.models import Annotator, Assignment
from annotation.quality.exclusion import Effect
from annotation.studies.services import find_study

TARGET = (
    argument("study", metavar="STUDY"),
    one_of(
        argument("--rater", metavar="CODE", help="all HITs of this rater"),
        argument(
            "--assignment",
            metavar="KEY",
            help="this one HIT of a rater, by the key in exports (--assignment=KEY if it begins with a dash)",
        ),
        required=True,
    ),
)


def target_of(options: Mapping[str, Any]) -> Annotator | Assignment:
    """Return the rater or assignment that the options name.

    Raises: UnknownStudy; UnknownName.
    """
    study = find_study(options["study"])
    target: Annotator | Assignment | None
    if options["rater"]:
        target = study.annotators.present().filter(code=options["rater"]).first()
    else:
        of_study = Assignment.objects.present().filter(hit__batch__study=study)
        target = of_study.select_related("annotator").filter(key=options["assignment"]).first()
    if target is None:
        named = f"rater {options['rater']!r}" if options["rater"] else f"assignment {options['assignment']!r}"
        raise UnknownName(f"study {study.slug} has no {named}")
    return target


class DecisionCommand(TandemCommand):
    """A decision about a rater or one HIT, with the values of a form."""

    form: ClassVar[type[forms.Form]]
    of_rater: ClassVar[Callable[..., Effect]]
    of_assignment: ClassVar[Callable[..., Effect]]

    def __init_subclass__(cls) -> None:
        cls.arguments = (*TARGET, *arguments_of(cls.form))

    def handle(self, *args: Any, **options: Any) -> None:
        target, cleaned = target_of(options), filled_by(self.form, options).cleaned_data
        if isinstance(target, Annotator):
            effect = self.of_rater(annotator=target, by=None, at=timezone.now(), **cleaned)
        else:
            effect = self.of_assignment(assignment=target, by=None, at=timezone.now(), **cleaned)
        self.say(effect.message)

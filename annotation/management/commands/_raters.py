"""Shared by commands about raters: options for a rater, or one of their HITs."""

from collections.abc import Mapping
from typing import Any

from annotation.core.errors import UnknownName
from annotation.management.commands._base import argument, one_of
from annotation.models import Annotator, Assignment
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

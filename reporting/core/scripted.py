"""Scripted raters: annotators that are programs."""

from annotation.models import Annotator, Study

SCRIPTED = "includes ratings by scripted raters: programs, not people"


def scripted_codes(study: Study) -> set[str]:
    """Return the codes of annotators that are programs."""
    return set(study.annotators.filter(kind=Annotator.Kind.SCRIPTED).values_list("code", flat=True))

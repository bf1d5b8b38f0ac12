"""Which judges and wordings somebody may know of. They belong to no study: a judge is shared by whoever shares a study
that it ran in, a wording by a group.
"""

from typing import Any

from django.db.models import Exists, OuterRef, Q, QuerySet

from annotation.access import READERS
from annotation.models import ResearchGroup, Study
from judging.models import Judge, JudgeRun, PromptFile


def judges_seen_by(user: Any) -> QuerySet[Judge]:
    """Return the judges that ran in a group of which `user` reads a study, and those that never ran; a site admin's: all.

    Another group's judges stay unknown: their names and settings may say what it works on. So do those that never ran,
    but have a wording of another group.
    """
    judges = Judge.objects.select_related("endpoint")
    if user.is_superuser:
        return judges
    runs = JudgeRun.objects.filter(judge=OuterRef("pk")).order_by()
    groups = Study.objects.seen_by(user, *READERS).order_by().values("group")
    unused = ~Exists(runs) & (Q(prompt_file__group=None) | Q(prompt_file__group__in=groups))
    return judges.filter(Exists(runs.filter(study__group__in=groups)) | unused)


def prompt_files_of(group: ResearchGroup) -> QuerySet[PromptFile]:
    """Return the wordings that judges of a group's studies may have: its own, and those that are for all groups."""
    return PromptFile.objects.filter(Q(group=group) | Q(group=None))

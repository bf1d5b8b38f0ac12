"""Which judges somebody may know of. A judge belongs to no study: whoever shares a study that it ran in shares it."""

from typing import Any

from django.db.models import Exists, OuterRef, QuerySet

from annotation.access import READERS
from annotation.models import Study
from judging.models import Judge, JudgeRun


def judges_seen_by(user: Any) -> QuerySet[Judge]:
    """Return the judges that ran in a group of which `user` reads a study, and those that never ran; a site admin's: all.

    Another group's judges stay unknown: their names and settings may say what it works on.
    """
    judges = Judge.objects.select_related("endpoint")
    if user.is_superuser:
        return judges
    runs = JudgeRun.objects.filter(judge=OuterRef("pk")).order_by()
    groups = Study.objects.seen_by(user, *READERS).order_by().values("group")
    return judges.filter(Exists(runs.filter(study__group__in=groups)) | ~Exists(runs))

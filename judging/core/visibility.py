"""Judges that a user sees through the studies they ran in, and prompt files seen through their group."""

from typing import Any

from django.db.models import Exists, OuterRef, Q, QuerySet

from annotation.members.permissions import READERS
from annotation.models import ResearchGroup, Study
from judging.models import Judge, JudgeRun, PromptFile


def judges_seen_by(user: Any) -> QuerySet[Judge]:
    """Return the judges that ran in a group of `user`'s studies or never ran, or all for site admins.

    Judges of other groups stay hidden, since names and settings may reveal what a group works on; so do judges that
    never ran but use another group's prompt file, and juries that never ran but name a judge that is hidden. A token
    that is limited to some studies shows a site admin the judges of their groups only.
    """
    judges = Judge.objects.select_related("endpoint", "table_endpoint")
    if user.is_superuser and getattr(user, "limited_to", None) is None:
        return judges
    runs = JudgeRun.objects.filter(judge=OuterRef("pk")).order_by()
    groups = Study.objects.visible_to(user, *READERS).order_by().values("group")
    unused = ~Exists(runs) & (Q(prompt_file__group=None) | Q(prompt_file__group__in=groups))
    judges_in_groups = judges.filter(Exists(runs.filter(study__group__in=groups)) | unused & ~Q(method=Judge.JURY))
    names = set(judges_in_groups.values_list("name", flat=True))
    juries = [jury.pk for jury in judges.filter(unused, method=Judge.JURY) if names.issuperset(jury.members)]
    if not juries:
        return judges_in_groups
    return judges.filter(Q(pk__in=judges_in_groups.order_by().values("pk")) | Q(pk__in=juries))


def prompt_files_of(group: ResearchGroup) -> QuerySet[PromptFile]:
    """Return the prompt files that judges of a group's studies may use: its own, and those for all groups."""
    return PromptFile.objects.filter(Q(group=group) | Q(group=None))


def prompt_files_seen_by(user: Any) -> QuerySet[PromptFile]:
    """Return the prompt files of the groups of which `user` reads a study, and those for all groups."""
    groups = Study.objects.visible_to(user, *READERS).order_by().values("group")
    return PromptFile.objects.filter(Q(group__in=groups) | Q(group=None))

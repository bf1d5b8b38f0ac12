"""The tabs of a study's pages, and which of them a page is under."""

from dataclasses import dataclass

from django.urls import reverse
from django.utils.translation import gettext as _

from annotation.models import Study


@dataclass(frozen=True)
class Tab:
    """A link to a part of a study's pages."""

    label: str
    address: str
    is_current: bool


def tabs_of(study: Study, path: str) -> list[Tab]:
    """Return the tabs of a study; the one that a page at `path` is under is the current one."""
    named = [
        (_("Instances"), "annotation:instances"),
        (_("Planner"), "annotation:planner"),
        (_("Recruitment"), "annotation:channels"),
        (_("Reports"), "annotation:reports"),
        (_("Judges"), "judging:judges"),
        (_("Comparison tables"), "judging:tables"),
        (_("Separability"), "reporting:separability"),
        (_("Findings"), "reporting:findings"),
    ]
    if study.systems.count() > 2:
        named.append((_("Leaderboard"), "reporting:leaderboard"))
    if study.is_two_stage:
        named.append((_("What tables change"), "reporting:table-effect"))
    named += [(_("Files"), "reporting:downloads"), (_("Log"), "annotation:study-log")]
    found = [(label, reverse(view, args=[study.slug])) for label, view in named]
    current = max((address for _label, address in found if path.startswith(address)), key=len, default="")
    return [Tab(label, address, address == current) for label, address in found]

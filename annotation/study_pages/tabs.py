"""The tabs of a study's pages, and which of them a page is under."""

from dataclasses import dataclass

from django.urls import reverse

from annotation.models import Study

# Pages that have no tab of their own, by the tab that leads to them and the beginning of their addresses.
UNDER = {
    "annotation:instances": ("generate/", "upload/"),
    "judging:judges": ("accuracy/", "audits/", "prompts/", "aspects/", "rankings/"),
    "reporting:findings": ("reports/disagreements/", "logic/", "leaderboard/", "table-effect/"),
}


@dataclass(frozen=True)
class Tab:
    """A link to a part of a study's pages."""

    label: str
    address: str
    is_current: bool


def tabs_of(study: Study, path: str) -> list[Tab]:
    """Return the tabs of a study; the one that a page at `path` is under is the current one."""
    named = [
        ("Instances", "annotation:instances"),
        ("Planner", "annotation:planner"),
        ("Recruitment", "annotation:channels"),
        ("Reports", "annotation:reports"),
        ("Judges", "judging:judges"),
        ("Comparison tables", "judging:tables"),
        ("Separability", "reporting:separability"),
        ("Findings", "reporting:findings"),
    ]
    if study.systems.count() > 2:
        named.append(("Leaderboard", "reporting:leaderboard"))
    if study.is_two_stage:
        named.append(("What tables change", "reporting:table-effect"))
    named += [("Files", "reporting:downloads"), ("Log", "annotation:study-log")]
    found = [(label, reverse(view, args=[study.slug])) for label, view in named]
    start = reverse("annotation:study", args=[study.slug])
    places = [(address, address) for _label, address in found]
    places += [(f"{start}{part}", reverse(view, args=[study.slug])) for view, parts in UNDER.items() for part in parts]
    current = max((one for one in places if path.startswith(one[0])), key=lambda one: len(one[0]), default=("", ""))[1]
    return [Tab(label, address, address == current) for label, address in found]

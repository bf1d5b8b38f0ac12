"""Template tags of the frame around pages: the tabs of a study, and the page of the documentation that helps."""

from dataclasses import dataclass

from django import template
from django.template import Context
from django.urls import reverse

from annotation.models import Study

register = template.Library()

TOPICS = {
    "tutorial/first_study.md": "studies",
    "howto/set_up_a_study.md": "new-study study study-settings copy-study study-log archive",
    "howto/make_a_batch.md": "new-batch batch-choice extend-batch copy-batch batch-preview",
    "howto/watch_a_batch.md": "batch batch-idle batch-message rater reports",
    "howto/recruit.md": "channels new-channel channel links",
    "howto/plan_a_study.md": "planner separability instances instance",
    "howto/add_a_judge.md": "judges new-judge estimate",
    "howto/run_judges.md": "run judgments start steer",
    "howto/comparison_tables.md": "tables table make-tables aspects table-effect",
    "howto/sample_texts.md": "generate",
    "howto/set_up_endpoints.md": "endpoints endpoint new-endpoint",
    "howto/improve_a_judge.md": "prompts prompt new-jury tunings estimate-tuning start-tuning",
    "howto/judge_the_judges.md": "judge-accuracy judgment compare mark",
    "howto/audit_a_judge.md": "logic contradictions",
    "measures.md": "findings leaderboard disagreements",
    "data.md": "upload downloads",
    "roles.md": "members groups group",
    "api.md": "token",
}
_TOPIC_OF_VIEW = {view: page for page, views in TOPICS.items() for view in views.split()}
DEFAULT_TOPIC = "glossary.md"

# Pages that have no tab of their own, by the tab that leads to them and the beginning of their addresses.
PAGES_OF_TABS = {
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


@register.simple_tag(takes_context=True)
def help_address(context: Context) -> str:
    """Return the address of the documentation's page that helps with this page. A view may name it as `help_page`."""
    match = context["request"].resolver_match
    page = context.get("help_page") or help_page(match.view_name if match else "")
    return reverse("annotation:documentation", args=[page])


def help_page(view_name: str) -> str:
    """Return the page of the documentation for a view, named as in `annotation:study`. The glossary for others."""
    return _TOPIC_OF_VIEW.get(view_name.rpartition(":")[2], DEFAULT_TOPIC)


@register.simple_tag(takes_context=True)
def study_tabs(context: Context) -> list[Tab]:
    """Return the tabs of the study whose page this is."""
    return tabs_of(context["study"], context["request"].path)


def tabs_of(study: Study, path: str) -> list[Tab]:
    """Return the tabs of a study. The one that a page at `path` is under is the current one."""
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
    addresses = [(label, reverse(view, args=[study.slug])) for label, view in named]
    start = reverse("annotation:study", args=[study.slug])
    prefixes = [(address, address) for _label, address in addresses]
    prefixes += [
        (f"{start}{part}", reverse(view, args=[study.slug])) for view, parts in PAGES_OF_TABS.items() for part in parts
    ]
    matching = (prefix for prefix in prefixes if path.startswith(prefix[0]))
    current = max(matching, key=lambda prefix: len(prefix[0]), default=("", ""))[1]
    return [Tab(label, address, address == current) for label, address in addresses]

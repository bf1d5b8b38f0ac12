"""Template tags of the frame around pages: the navigation of a study, and the page of the documentation that helps."""

from dataclasses import dataclass, replace
from typing import Any

from django import template
from django.template import Context
from django.urls import reverse

from annotation.members.permissions import may_manage
from annotation.models import Study

register = template.Library()

# Sections of the documentation by the pages that they are about.
TOPICS = {
    "tutorial/first_study.md": "studies",
    "howto/set_up_a_study.md#on-the-pages": "new-study study",
    "howto/set_up_a_study.md#once-rating-has-begun": "study-settings study-log",
    "howto/set_up_a_study.md#copy-and-archive": "copy-study archive",
    "howto/make_a_batch.md#1-choose": "new-batch batch-choice",
    "howto/make_a_batch.md#2-look-at-it-as-a-rater-would": "batch-preview",
    "howto/make_a_batch.md#4-extend": "extend-batch",
    "howto/make_a_batch.md#5-copy": "copy-batch",
    "howto/watch_a_batch.md#the-page": "batch batch-idle batch-message",
    "howto/watch_a_batch.md#deciding-about-a-rater": "rater reports",
    "howto/recruit.md#where-raters-come-from": "channels new-channel channel",
    "howto/recruit.md#one-time-links": "links",
    "howto/plan_a_study.md#plan-its-size": "planner",
    "howto/plan_a_study.md#freeze-the-plan": "freeze-plan",
    "howto/plan_a_study.md#choose-instances-worth-a-persons-time": "separability",
    "howto/add_a_judge.md#a-judge-of-your-own-without-code": "new-judge",
    "howto/run_judges.md": "start steer",
    "howto/comparison_tables.md#create-comparison-tables": "tables table make-tables",
    "howto/comparison_tables.md#aspects-that-hold-for-a-task": "aspects",
    "howto/comparison_tables.md#6-what-the-tables-changed": "table-effect",
    "howto/sample_texts.md": "generate",
    "howto/set_up_endpoints.md": "endpoints endpoint new-endpoint",
    "howto/set_up_endpoints.md#estimate-a-run-and-read-its-usage": "estimate",
    "howto/improve_a_judge.md#bring-your-own-prompt": "prompts prompt",
    "howto/improve_a_judge.md#create-a-jury": "new-jury",
    "howto/improve_a_judge.md#tune-a-judge-on-peoples-votes": "tunings estimate-tuning start-tuning",
    "howto/judge_the_judges.md#all-judges-of-a-study": "judges",
    "howto/judge_the_judges.md#one-run": "run judgments",
    "howto/judge_the_judges.md#one-judgment": "judgment mark",
    "howto/judge_the_judges.md#compare-raters": "compare",
    "howto/judge_the_judges.md#count-them-against-gold-labels": "judge-accuracy",
    "howto/audit_a_judge.md#consistency-of-a-judge-with-itself": "logic contradictions",
    "howto/audit_a_judge.md#stress-tests": "audits stress-test",
    "measures.md#the-answer": "findings",
    "measures.md#rankings": "leaderboard",
    "measures.md#agreement-between-raters": "disagreements",
    "data.md#study-file-instances-and-generations": "instances instance",
    "data.md": "upload upload-page upload-look",
    "data.md#out": "downloads",
    "roles.md#roles": "members",
    "roles.md#what-groups-share": "groups group",
    "roles.md#accounts": "account",
    "privacy.md#ones-own-data": "own-data",
    "api.md": "token",
}
_TOPIC_OF_VIEW = {view: page for page, views in TOPICS.items() for view in views.split()}

# The pages of a study by the entry that they are under. An entry leads to its first page.
ENTRIES = {
    "Overview": (
        ("Overview", "annotation:study"),
        ("Settings", "annotation:study-settings"),
        ("Members", "annotation:members"),
        ("Planner", "annotation:planner"),
        ("Log", "annotation:study-log"),
    ),
    "Data": (
        ("Instances", "annotation:instances"),
        ("Import a file", "annotation:upload"),
        ("Sample texts", "judging:generate"),
        ("Separability", "reporting:separability"),
    ),
    "Raters": (("Recruitment", "annotation:channels"), ("Reports", "annotation:reports")),
    "Judges": (
        ("Judges", "judging:judges"),
        ("Accuracy", "reporting:judge-accuracy"),
        ("Logical consistency", "reporting:logic"),
        ("Compare raters", "judging:compare"),
        ("Stress tests", "reporting:audits"),
        ("Prompts", "judging:prompts"),
        ("Tuning", "judging:tunings"),
        ("Aspects", "judging:aspects"),
        ("Comparison tables", "judging:tables"),
    ),
    "Findings": (
        ("Findings", "reporting:findings"),
        ("Leaderboard", "reporting:leaderboard"),
        ("Disagreements", "reporting:disagreements"),
        ("Table effect", "reporting:table-effect"),
    ),
    "Export": (("Export", "reporting:downloads"),),
}
# Beginnings of the addresses of other pages. All that are left are under Overview.
BELOW = {"batches/": "Raters", "raters/": "Raters", "judgments/": "Judges"}


@dataclass(frozen=True)
class Link:
    """A link in a study's navigation.

    current : the value of aria-current: "page" for this page, "true" for one above it, or ""
    """

    label: str
    address: str
    current: str


@register.simple_tag(takes_context=True)
def help_address(context: Context) -> str:
    """Return the address of the section about this page, or of the contents. A view may name it as `help_page`."""
    match = context["request"].resolver_match
    topic = context.get("help_page") or help_topic(match.view_name if match else "")
    page, _, anchor = topic.partition("#")
    address = reverse("annotation:documentation", args=[page]) if page else reverse("annotation:help")
    return f"{address}#{anchor}" if anchor else address


def help_topic(view_name: str) -> str:
    """Return the section of the documentation about the page of a view, named as in `annotation:study`, or ""."""
    return _TOPIC_OF_VIEW.get(view_name.rpartition(":")[2], "")


@register.simple_tag(takes_context=True)
def study_navigation(context: Context) -> tuple[list[Link], list[Link]]:
    """Return the entries of the study whose page this is, and the pages of the current entry."""
    request = context["request"]
    return navigation_of(context["study"], request.path, request.user)


def navigation_of(study: Study, path: str, user: Any) -> tuple[list[Link], list[Link]]:
    """Return the entries of a study, and the pages that `user` may see under the entry of the page at `path`."""
    addresses = {view: reverse(view, args=[study.slug]) for pages in ENTRIES.values() for _label, view in pages}
    prefixes = [(addresses[view], entry) for entry, pages in ENTRIES.items() for _label, view in pages]
    prefixes += [(f"{addresses['annotation:study']}{part}", entry) for part, entry in BELOW.items()]
    above = (pair for pair in prefixes if path.startswith(pair[0]))
    # A study that is being created of files has a page outside of its addresses.
    prefix, current_entry = max(above, key=lambda pair: len(pair[0]), default=("", "Overview"))
    hidden = set()
    if current_entry == "Overview" and not may_manage(user, study):
        hidden |= {"annotation:study-settings", "annotation:members"}
    if current_entry == "Findings":
        if study.systems.count() <= 2:
            hidden.add("reporting:leaderboard")
        if not study.is_two_stage:
            hidden.add("reporting:table-effect")
    pages = [
        Link(label, address, "page" if address == path else "true" if address == prefix else "")
        for label, view in ENTRIES[current_entry]
        if (address := addresses[view]) and view not in hidden
    ]
    entries = [
        Link(entry, addresses[views[0][1]], "true" if entry == current_entry else "")
        for entry, views in ENTRIES.items()
    ]
    if len(pages) == 1:
        return [replace(entry, current=entry.current and pages[0].current) for entry in entries], []
    return entries, pages

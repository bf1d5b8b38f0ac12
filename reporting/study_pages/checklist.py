"""A study as a checklist: the state of each step, and the next action."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from django.db.models import Count, Q
from django.template.defaultfilters import pluralize
from django.urls import reverse
from django.utils.formats import date_format

from annotation.models import Annotator, Batch, Rating, Study
from annotation.recruitment.channels import address_for_raters
from annotation.separability.services import is_separability_possible
from judging.models import JudgeRun, Judgment
from reporting.core.disputed_pairs import offer_of_disputed

RUNNING = {JudgeRun.Status.QUEUED, JudgeRun.Status.RUNNING}
MOST_NAMED = 8  # systems
FINISHED = {JudgeRun.Status.DONE, JudgeRun.Status.CANCELLED}


class StepState(StrEnum):
    """The state of a step. The first open one is next, a waiting one has no badge."""

    DONE = "done"
    RUNNING = "running"
    NEXT = "next"
    OPEN = "open"
    WAITING = "waiting"
    IMPOSSIBLE = "impossible"

    @property
    def label(self) -> str:
        """The word on the badge."""
        return _LABELS.get(self, "")


_LABELS: dict[StepState, str] = {
    StepState.DONE: "Done",
    StepState.RUNNING: "Under way",
    StepState.NEXT: "Next",
    StepState.OPEN: "To do",
    StepState.IMPOSSIBLE: "Not possible",
}


@dataclass(frozen=True)
class Action:
    """A button: a link to `address`, or a POST without fields."""

    label: str
    address: str
    posts: bool = False


@dataclass(frozen=True)
class Step:
    """One step of a study.

    figures : its contents, in numbers
    missing : the reason why it or a person waits, or ""
    details : template of the step's tables and forms, or ""
    """

    key: str
    title: str
    state: StepState
    figures: str
    missing: str = ""
    actions: Sequence[Action] = ()
    details: str = ""


def checklist(study: Study, context: dict[str, Any]) -> list[Step]:
    """Return the steps of a study, the first open one as the next, without separability once a batch is launched.

    An archived study has no next step.

    context : the context of the study's page
    """
    steps = [
        _texts(study, context),
        _separability(study, context),
        _batch(study, context),
        _raters(study, context),
        _judges(study),
        _findings(study),
    ]
    if study.archived_at is not None:
        return [replace(step, actions=()) for step in steps]
    launched = any(batch.status != Batch.Status.DRAFT for batch in context["batches"])
    for index, step in enumerate(steps):
        # Separability helps to choose a batch's instances; behind a launched one other steps are more pressing.
        if step.state == StepState.OPEN and not (launched and step.key == "separability"):
            steps[index] = replace(step, state=StepState.NEXT)
            break
    return steps


def _texts(study: Study, context: dict[str, Any]) -> Step:
    count, pairs = context["instance_count"], any(row["matchups"] for row in context["rows"])
    upload = Action("Import a file", reverse("annotation:upload", args=[study.slug]))
    sample = Action("Sample texts", reverse("judging:generate", args=[study.slug]))
    instances = Action("Instances", reverse("annotation:instances", args=[study.slug]))
    step = Step("texts", "Texts", StepState.OPEN, "", details="reporting/study_pages/_files_read.html")
    figures = f"{count} instance{pluralize(count)}"
    if names := [system.name for system in context["systems"]]:
        more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
        figures = f"{figures} · {', '.join(names[:MOST_NAMED])}{more}"
    if pairs:
        return replace(step, state=StepState.DONE, figures=figures, actions=(instances, upload, sample))
    if count:
        missing = "Nothing can be compared yet: an instance needs texts of two systems."
        return replace(step, figures=figures, missing=missing, actions=(sample, upload, instances))
    missing = "Import sources with texts of two systems or more, or sample texts from models."
    return replace(step, figures="No text yet", missing=missing, actions=(upload, sample))


def _separability(study: Study, context: dict[str, Any]) -> Step:
    rows = context["rows"]
    runs = [row["run"] for row in rows if row["run"]]
    compute = Action("Compute", reverse("annotation:separability", args=[study.slug]), posts=True)
    look = Action("Show", reverse("reporting:separability", args=[study.slug]))
    step = Step(
        "separability", "Separability", StepState.WAITING, "", details="reporting/study_pages/_separability.html"
    )
    figures = f"{len(runs)} of {len(rows)} configuration{pluralize(len(rows))}" if rows else "Needs texts"
    if runs:
        figures = f"{figures} · {', '.join(dict.fromkeys(run.label for run in runs))}"
    missing = "How easily two systems’ texts can be told apart. It helps to choose instances, and is optional."
    if context["busy"]:
        return replace(step, state=StepState.RUNNING, figures=figures)
    if rows and not is_separability_possible(study):
        missing = "Not possible with one text per system and instance. Sample more texts, or skip this step."
        sample = Action("Sample texts", reverse("judging:generate", args=[study.slug]))
        return Step("separability", step.title, StepState.IMPOSSIBLE, "", missing, (sample,))
    if len(runs) < len(rows):
        return replace(step, state=StepState.OPEN, figures=figures, missing=missing, actions=(compute,))
    return (
        replace(step, state=StepState.DONE, figures=figures, actions=(look,))
        if rows
        else replace(step, figures=figures)
    )


def _batch(study: Study, context: dict[str, Any]) -> Step:
    batches = context["batches"]
    drafts = [batch for batch in batches if batch.status == Batch.Status.DRAFT]
    missing = "Pages (HITs) for raters, one for each instance."
    step = Step("batch", "Batch", StepState.OPEN, "No batch yet", missing)
    if not any(row["matchups"] for row in context["rows"]):
        return replace(step, state=StepState.WAITING)
    new = (Action("New batch", reverse("annotation:new-batch", args=[study.slug])),) if context["may_manage"] else ()
    if not batches:
        offer = offer_of_disputed(study) if new else None
        return replace(step, actions=(Action(*offer), *new) if offer else new)
    step = replace(step, missing="", details="reporting/study_pages/_batches.html")
    figures = f"{len(batches)} batch" if len(batches) == 1 else f"{len(batches)} batches"
    hits = sum(batch.hit_count for batch in batches)
    figures = f"{figures} · {hits} HIT{pluralize(hits)}"
    if len(drafts) < len(batches):
        return replace(step, state=StepState.DONE, figures=figures, actions=new)
    missing = "A draft. Preview it, then launch it."
    look = Action("Preview and launch", reverse("annotation:batch", args=[study.slug, drafts[0].pk]))
    return replace(step, figures=figures, missing=missing, actions=(look, *new))


def _raters(study: Study, context: dict[str, Any]) -> Step:
    batches = [
        batch
        for batch in context["batches"]
        if batch.purpose == Batch.Purpose.RATING and batch.status != Batch.Status.DRAFT
    ]
    step = Step("raters", "Raters", StepState.WAITING, "Needs a launched batch")
    if not batches:
        return step
    total, filled = sum(batch.slot_count for batch in batches), sum(batch.filled_count for batch in batches)
    figures = _figures_of_raters(study, total, filled, sum(batch.claimed_count for batch in batches))
    unfilled = [
        batch for batch in batches if batch.status != Batch.Status.CLOSED and batch.filled_count < batch.slot_count
    ]
    running = [batch for batch in unfilled if batch.status == Batch.Status.OPEN]
    bring = Action("Invite raters", address_for_raters(study))
    if not context["may_manage"]:
        bring = Action("Recruitment", reverse("annotation:channels", args=[study.slug]))
    if not unfilled:
        missing = "Closed with free slots." if filled < total else ""
        return replace(step, state=StepState.DONE, figures=figures, missing=missing, actions=(bring,))
    watch = Action("Watch", reverse("annotation:batch", args=[study.slug, (running or unfilled)[0].pk]))
    if not running:
        return replace(
            step, state=StepState.OPEN, figures=figures, missing="The batch is paused.", actions=(watch, bring)
        )
    if not study.channels.filter(is_open=True).exists():
        missing = "No channel is open: no new rater can join."
        return replace(step, state=StepState.OPEN, figures=figures, missing=missing, actions=(bring, watch))
    return replace(step, state=StepState.RUNNING, figures=figures, actions=(watch, bring))


def _figures_of_raters(study: Study, total: int, filled: int, claimed: int) -> str:
    joined = Q(participant__isnull=False) | Q(kind=Annotator.Kind.ACCOUNT)
    rater_count = Annotator.objects.present().filter(joined, study=study).count()
    parts = [
        f"{filled} of {total} slot{pluralize(total)} filled",
        f"{claimed} at work now",
        f"{rater_count} rater{pluralize(rater_count)} joined"
        if rater_count or not filled
        else "",  # raters of imports never do
    ]
    return " · ".join(filter(None, parts))


def _judges(study: Study) -> Step:
    address = reverse("judging:judges", args=[study.slug])
    runs = list(study.judge_runs.values_list("judge_id", "status"))
    if not runs:
        is_open = study.systems.exists()
        return Step(
            "judges",
            "Judges",
            StepState.OPEN if is_open else StepState.WAITING,
            "No judge has been asked",
            "Language models and baselines that rate the same pairs as people do.",
            (Action("Choose a judge", address),) if is_open else (),
        )
    statuses = {status for _judge, status in runs}
    stopped = statuses - FINISHED - RUNNING
    state = StepState.RUNNING if statuses & RUNNING else StepState.OPEN if stopped else StepState.DONE
    missing = "A run has stopped early." if stopped else ""
    judges = len({judge for judge, _status in runs})
    cells = Judgment.objects.filter(run__study=study).aggregate(
        total=Count("pk"), done=Count("pk", filter=~Q(status=Judgment.Status.PENDING))
    )
    figures = f"{judges} judge{pluralize(judges)} · {cells['done']} of {cells['total']} presentations"
    return Step("judges", "Judges", state, figures, missing, (Action("Judges", address),))


def _findings(study: Study) -> Step:
    rated = Rating.objects.filter(display__assignment__annotator__study=study).exists()
    judged = Judgment.objects.filter(run__study=study, status=Judgment.Status.PARSED).exists()
    if not rated and not judged:
        return Step("findings", "Findings", StepState.WAITING, "Needs ratings or judgments")
    last = study.findings_snapshots.order_by("-read_at").values_list("read_at", flat=True).first()
    show = Action("Show the findings", reverse("reporting:findings", args=[study.slug]))
    if last is None:
        return Step("findings", "Findings", StepState.OPEN, "Not read yet", actions=(show,))
    figures = f"Last read {date_format(last, 'SHORT_DATETIME_FORMAT')} UTC"
    return Step("findings", "Findings", StepState.DONE, figures, actions=(show,))

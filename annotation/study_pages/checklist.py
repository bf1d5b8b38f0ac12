"""A study as a checklist: what each step has, what it lacks, and the action that comes next."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from django.db.models import Q
from django.template.defaultfilters import pluralize
from django.urls import reverse
from django.utils.module_loading import import_string

from annotation.models import Annotator, Batch, Study
from annotation.recruitment.first_links import address_for_raters
from annotation.study_pages.later_steps import LATER


class StepState(StrEnum):
    """How far a step is; the first one that is open is the next."""

    DONE = "done"
    RUNNING = "running"
    NEXT = "next"
    OPEN = "open"
    WAITING = "waiting"

    @property
    def label(self) -> str:
        """The word on the badge."""
        return _LABELS[self]


_LABELS: dict[StepState, str] = {
    StepState.DONE: "Done",
    StepState.RUNNING: "Under way",
    StepState.NEXT: "Next",
    StepState.OPEN: "To do",
    StepState.WAITING: "Later",
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

    figures : what there is, in numbers
    missing : what the step or a person waits for, or ""
    details : template of the step's tables and forms, or ""
    """

    key: str
    title: str
    state: StepState
    figures: str
    missing: str = ""
    actions: Sequence[Action] = ()
    details: str = ""


def checklist(study: Study, seen: dict[str, Any]) -> list[Step]:
    """Return the steps of a study, the first open one as the next, without separability once a batch is launched.

    An archived study has no next step.

    seen : the context of the study's page
    """
    steps = [_texts(study, seen), _separability(study, seen), _batch(study, seen), _raters(study, seen)]
    steps += [import_string(path)(study) for path in LATER]
    if study.archived_at is not None:
        return [replace(step, actions=()) for step in steps]
    launched = any(one.status != Batch.Status.DRAFT for one in seen["batches"])
    is_open = [place for place, step in enumerate(steps) if step.state == StepState.OPEN]
    # Separability helps to choose a batch's instances; behind a launched one other steps are more pressing.
    place = next((place for place in is_open if not (launched and steps[place].key == "separability")), None)
    if place is not None:
        steps[place] = replace(steps[place], state=StepState.NEXT)
    return steps


def _texts(study: Study, seen: dict[str, Any]) -> Step:
    count, pairs = seen["instance_count"], any(row["matchups"] for row in seen["rows"])
    read = Action("Read a file", reverse("annotation:upload", args=[study.slug]))
    sample = Action("Sample texts", reverse("judging:generate", args=[study.slug]))
    listed = Action("Instances", reverse("annotation:instances", args=[study.slug]))
    step = Step("texts", "Texts", StepState.OPEN, "", details="annotation/study_pages/_files_read.html")
    figures = f"{count} instance{pluralize(count)}"
    if names := ", ".join(system.name for system in seen["systems"]):
        figures = f"{figures} · {names}"
    if pairs:
        return replace(step, state=StepState.DONE, figures=figures, actions=(listed, read, sample))
    if count:
        missing = "Nothing can be compared yet: an instance needs texts of two systems."
        return replace(step, figures=figures, missing=missing, actions=(sample, read, listed))
    missing = "Read a file with sources and the texts of two systems or more, or sources whose texts are sampled here."
    return replace(step, figures="No text yet", missing=missing, actions=(read, sample))


def _separability(study: Study, seen: dict[str, Any]) -> Step:
    rows = seen["rows"]
    runs = [row["run"] for row in rows if row["run"]]
    compute = Action("Compute", reverse("annotation:separability", args=[study.slug]), posts=True)
    look = Action("Show", reverse("reporting:separability", args=[study.slug]))
    step = Step(
        "separability", "Separability", StepState.WAITING, "", details="annotation/study_pages/_separability.html"
    )
    figures = f"{len(runs)} of {len(rows)} configuration{pluralize(len(rows))}" if rows else "Needs texts"
    if runs:
        figures = f"{figures} · {', '.join(dict.fromkeys(run.label for run in runs))}"
    missing = "How easily two systems' texts can be told apart. It helps to choose instances; you can do without."
    if seen["busy"]:
        return replace(step, state=StepState.RUNNING, figures=figures)
    if len(runs) < len(rows):
        return replace(step, state=StepState.OPEN, figures=figures, missing=missing, actions=(compute,))
    return (
        replace(step, state=StepState.DONE, figures=figures, actions=(look,))
        if rows
        else replace(step, figures=figures)
    )


def _batch(study: Study, seen: dict[str, Any]) -> Step:
    batches = seen["batches"]
    drafts = [one for one in batches if one.status == Batch.Status.DRAFT]
    missing = "Pages of pairs to be rated, one page (a HIT) for each instance."
    step = Step("batch", "Batch", StepState.OPEN, "No batch yet", missing)
    if not any(row["matchups"] for row in seen["rows"]):
        return replace(step, state=StepState.WAITING)
    new = (Action("New batch", reverse("annotation:new-batch", args=[study.slug])),) if seen["may_manage"] else ()
    if not batches:
        return replace(step, actions=new)
    step = replace(step, missing="", details="annotation/study_pages/_batches.html")
    figures = f"{len(batches)} batch" if len(batches) == 1 else f"{len(batches)} batches"
    hits = sum(one.hit_count for one in batches)
    figures = f"{figures} · {hits} HIT{pluralize(hits)}"
    if len(drafts) < len(batches):
        return replace(step, state=StepState.DONE, figures=figures, actions=new)
    missing = "A draft: look at it as a rater would, then launch it."
    look = Action("Look and launch", reverse("annotation:batch", args=[study.slug, drafts[0].pk]))
    return replace(step, figures=figures, missing=missing, actions=(look, *new))


def _raters(study: Study, seen: dict[str, Any]) -> Step:
    rated = [one for one in seen["batches"] if one.purpose == Batch.Purpose.RATING and one.status != Batch.Status.DRAFT]
    step = Step("raters", "Raters", StepState.WAITING, "Needs a launched batch")
    if not rated:
        return step
    total, filled = sum(one.slot_count for one in rated), sum(one.filled_count for one in rated)
    figures = _figures_of_raters(study, total, filled, sum(one.claimed_count for one in rated))
    still_open = [one for one in rated if one.status != Batch.Status.CLOSED and one.filled_count < one.slot_count]
    is_open = [one for one in still_open if one.status == Batch.Status.OPEN]
    bring = Action("Bring raters", address_for_raters(study))
    if not seen["may_manage"]:
        bring = Action("Channels", reverse("annotation:channels", args=[study.slug]))
    if not still_open:
        return replace(step, state=StepState.DONE, figures=figures, actions=(bring,))
    watch = Action("Watch", reverse("annotation:batch", args=[study.slug, (is_open or still_open)[0].pk]))
    if not is_open:
        return replace(
            step, state=StepState.OPEN, figures=figures, missing="The batch is paused.", actions=(watch, bring)
        )
    if not study.channels.filter(is_open=True).exists():
        missing = "No channel is open: no new rater can join."
        return replace(step, state=StepState.OPEN, figures=figures, missing=missing, actions=(bring, watch))
    return replace(step, state=StepState.RUNNING, figures=figures, actions=(watch, bring))


def _figures_of_raters(study: Study, total: int, filled: int, claimed: int) -> str:
    joined = Q(participant__isnull=False) | Q(kind=Annotator.Kind.ACCOUNT)
    came = Annotator.objects.present().filter(joined, study=study).count()
    parts = [
        f"{filled} of {total} slot{pluralize(total)} filled",
        f"{claimed} at work now",
        f"{came} rater{pluralize(came)} joined",
    ]
    return " · ".join(parts)

"""Renaming a study, one of its systems, or a judge."""

from collections.abc import Iterable
from typing import Any

from django import forms
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.db import transaction
from django.urls import reverse

from annotation.core.errors import AnnotationError, Unacceptable, UnknownName
from annotation.core.files.lines import text_problem
from annotation.core.names import ShortNameField, lookalikes, trim
from annotation.importing.formats.study_file import LONGEST_SYSTEM
from annotation.members.permissions import may_manage
from annotation.models import Batch, ComparisonTable, Event, Instance, Study, System
from annotation.planning.frozen_plans import content_today, frozen_plan
from annotation.studies.log import log
from annotation.studies.services import find_study, validate
from judging.models import GenerationRun, Judge, JudgeRun
from judging.runs.pair_filters import filter_of
from reporting.corrections.declarations import Correction, Effect

PART = 500


class Rename(Correction):
    """Rename the study, one of its systems, or a judge that ran on it."""

    action = "rename"
    title = "Rename"
    explanation = (
        "Pages, exports and bundles carry the new name; the log has both. "
        "Pages at a study’s old address lead to the new one; files and API addresses with it no longer match."
    )

    system = forms.CharField(
        required=False,
        max_length=LONGEST_SYSTEM,
        label="System",
        help_text="To rename a system: its present name.",
    )
    judge = forms.CharField(
        required=False, max_length=80, label="Judge", help_text="To rename a judge: its present name."
    )
    to = forms.CharField(
        max_length=LONGEST_SYSTEM, label="New name", help_text="Of the study, unless a system or judge is given."
    )
    field_order = ("to", "system", "judge", "reason")

    def __init__(self, *args: Any, study: Study, **kwargs: Any) -> None:
        super().__init__(*args, study=study, **kwargs)
        if self.initial.keys() & {"system", "judge", "study"}:  # a link says what is renamed
            for name in {"system", "judge"} - self.initial.keys():
                del self.fields[name]
        self.fields["to"].initial = self.initial.get("system") or self.initial.get("judge") or study.slug

    def clean(self) -> dict[str, Any]:
        """Refuse a system together with a judge, and check the new short name of a study."""
        cleaned = super().clean() or {}
        if cleaned.get("system") and cleaned.get("judge"):
            self.add_error("judge", "Name either a system or a judge.")
        elif not cleaned.get("system") and not cleaned.get("judge") and "to" in cleaned:
            try:
                ShortNameField(max_length=80).clean(cleaned["to"])
            except forms.ValidationError as error:
                self.add_error("to", error)
        return cleaned

    def effects(self) -> list[Effect]:
        """List the instances of a system, the runs of a judge, or the study's addresses."""
        slug, to = self.study.slug, self.cleaned_data["to"]
        if name := self.cleaned_data["system"]:
            system = _system(self.study, name)
            _check_system_name(self.study, system, to)
            instances = Instance.objects.filter(generations__system=system).distinct()
            page = reverse("annotation:instances", args=[slug])
            return [Effect(instances.count(), f"instances with texts of {name}", page)]
        if name := self.cleaned_data["judge"]:
            judge = _judge(self.study, name)
            _check_judge_name(judge, to)
            studies = judge.runs.order_by().values("study").distinct().count()
            return [
                Effect(judge.runs.count(), f"runs of {name}", reverse("judging:judges", args=[slug])),
                Effect(studies, f"studies with runs of {name}"),
            ]
        _check_short_name(self.study, to)
        return [Effect(1, "short name of the study, whose pages lead to the new address")]

    def run(self, *, by: User | None) -> str:
        """Rename the study, the system or the judge."""
        to, named = self.cleaned_data["to"], {"study": self.study, "by": by, "reason": self.cleaned_data["reason"]}
        if name := self.cleaned_data["system"]:
            rename_system(name=name, to=to, **named)
            return f"System {name} is named {to} now."
        if name := self.cleaned_data["judge"]:
            rename_judge(name=name, to=to, **named)
            return f"Judge {name} is named {to} now."
        name = self.study.slug
        rename_study(to=to, **named)
        return f"Study {name} has the short name {to} now."


@transaction.atomic
def rename_study(*, study: Study, to: str, by: User | None = None, reason: str = "") -> None:
    """Change a study's short name. Pages at its former address lead to the new one.

    Raises: AnnotationError if the name is taken or reserved.
    """
    locked = find_study(study.slug, lock=True)
    old = locked.slug
    _check_short_name(locked, to)
    locked.slug = to
    validate(locked)
    locked.save(update_fields=["slug"])
    log(study=locked, kind=Event.Kind.RENAMED, by=by, reason=reason, changes={"short_name": [old, to]})
    study.slug = to


@transaction.atomic
def rename_system(*, study: Study, name: str, to: str, by: User | None = None, reason: str = "") -> None:
    """Change a system's name, also where gold, runs on a part of the pairs and the sampling of texts name it.

    Raises: UnknownName; Unacceptable if another system has the name; AnnotationError while its texts are sampled.
    """
    study = find_study(study.slug, lock=True)
    system = _system(study, name)
    _check_system_name(study, system, to)
    for run in GenerationRun.objects.select_for_update(of=("self",)).filter(study=study, name=name):
        if run.is_busy:
            raise AnnotationError(f"texts of {name} are being sampled; stop that first")
        run.name = to
        run.save(update_fields=["name"])
    system.name = to
    system.save(update_fields=["name"])
    _rename_in_gold(study, name, to)
    for judged in JudgeRun.objects.filter(study=study, pair_filter__has_key="systems"):
        names = [to if item == name else item for item in judged.pair_filter["systems"]]
        renamed = filter_of({**judged.pair_filter, "systems": names})
        judged.pair_filter, judged.filter_key = renamed.stored, renamed.key
        judged.save(update_fields=["pair_filter", "filter_key"])
    log(study=study, kind=Event.Kind.RENAMED, by=by, reason=reason, changes={"system": [name, to]})


@transaction.atomic
def rename_judge(*, study: Study, name: str, to: str, by: User | None = None, reason: str = "") -> None:
    """Change the name of a judge that ran on a study, also where juries and comparison tables name it.

    Raises: UnknownName; Unacceptable for a name that is taken or not possible; AnnotationError while it judges, or if it
    ran on a study that the user is no admin of.
    """
    judge = Judge.objects.select_for_update(of=("self",)).get(pk=_judge(study, name).pk)
    _check_judge_name(judge, to)
    studies = list(Study.objects.filter(judge_runs__judge=judge).distinct())
    if by is not None and not all(may_manage(by, other) for other in studies):
        raise AnnotationError(f"{name} ran on studies of which you are no admin. Ask a site admin.")
    if judge.runs.filter(status__in=(JudgeRun.Status.QUEUED, JudgeRun.Status.RUNNING)).exists():
        raise AnnotationError(f"A run of judge {name} is active. Pause it first.")
    planning = []
    planned = Study.objects.filter(events__kind=Event.Kind.PLANNED).exclude(pk__in=[study.pk for study in studies])
    for other in planned.distinct():
        plan = frozen_plan(other)
        content = content_today(other, plan) if plan else {}
        if name in content.get("judges", ()) or content.get("stop_rule") == f"judge:{name}":
            planning.append(other)
    judge.name = to
    judge.save(update_fields=["name"])
    Batch.objects.filter(study__in=studies, stop_rule=f"judge:{name}").update(stop_rule=f"judge:{to}")
    for batch in Batch.objects.filter(study__in=studies, selection__has_key="active"):
        made_from = batch.selection["active"]
        made_from["judges"] = sorted(to if judged == name else judged for judged in made_from["judges"])
        batch.save(update_fields=["selection"])
    for jury in Judge.objects.filter(method=Judge.JURY):
        if name in jury.members:
            jury.params["members"] = [to if member == name else member for member in jury.members]
            jury.save(update_fields=["params"])
    tables = ComparisonTable.objects.filter(study__in=studies, made_by__judge=name)
    for table in tables.only("made_by").iterator(chunk_size=PART):
        table.made_by["judge"] = to
        table.save(update_fields=["made_by"])
    for other in [*studies, *planning]:
        log(study=other, kind=Event.Kind.RENAMED, by=by, reason=reason, changes={"judge": [name, to]})


def _rename_in_gold(study: Study, name: str, to: str) -> None:
    changed = []
    for instance in study.instances.exclude(gold=None).only("gold").iterator(chunk_size=PART):
        gold = dict(instance.gold or {})
        if gold.get("better") == name:
            gold["better"] = to
        if name in (scores := gold.get("scores") or {}):
            gold["scores"] = {to if key == name else key: value for key, value in scores.items()}
        if gold != instance.gold:
            instance.gold = gold
            changed.append(instance)
    Instance.objects.bulk_update(changed, ["gold"], batch_size=PART)


def _system(study: Study, name: str) -> System:
    system = study.systems.filter(name=name).first()
    if system is None:
        names = ", ".join(study.systems.values_list("name", flat=True)) or "none yet"
        raise UnknownName(f"Study {study.slug} has no system {name}. It has: {names}.", "system")
    return system


def _judge(study: Study, name: str) -> Judge:
    judges = Judge.objects.filter(runs__study=study).distinct()
    judge = judges.filter(name=name).first()
    if judge is None:
        names = ", ".join(judges.values_list("name", flat=True)) or "none"
        raise UnknownName(f"No judge {name} ran on study {study.slug}. Its judges: {names}.", "judge")
    return judge


def _check_judge_name(judge: Judge, to: str) -> None:
    try:
        Judge._meta.get_field("name").clean(to, judge)
    except ValidationError as error:
        raise Unacceptable(" ".join(error.messages)) from None
    existing = Judge.objects.exclude(pk=judge.pk).values_list("name", flat=True)
    if to == judge.name or to in existing:
        raise Unacceptable(f"A judge is named {to} already. Choose another name.")
    _refuse_lookalike("judge", to, existing)


def _check_system_name(study: Study, system: System, to: str) -> None:
    if problem := text_problem(to, "the system name", longest=LONGEST_SYSTEM):
        raise Unacceptable(problem.text)
    if to != trim(to) or to == "tie":
        raise Unacceptable("A system’s name has no blanks around it, and is not “tie”.")
    existing = study.systems.exclude(pk=system.pk).values_list("name", flat=True)
    if to in existing:
        raise Unacceptable(f"Study {study.slug} has a system {to} already. Choose another name.")
    if to == system.name:
        raise Unacceptable(f"The system is named {to} already.")
    _refuse_lookalike("system", to, existing)


def _refuse_lookalike(kind: str, to: str, existing: Iterable[str]) -> None:
    if lookalike := lookalikes([to], existing).get(to):
        raise Unacceptable(f"{to} differs from {kind} {lookalike} by case or blanks only. Choose another name.")


def _check_short_name(study: Study, to: str) -> None:
    if to == study.slug:
        raise Unacceptable(f"The study’s short name is {to} already.")
    if Study._base_manager.exclude(pk=study.pk).filter(slug__iexact=to).exists():
        raise Unacceptable(f"Another study has the short name {to}. Choose another one.")  # which may be hidden

"""Renaming a study or one of its systems."""

from typing import Any

from django import forms
from django.contrib.auth.models import User
from django.db import transaction
from django.urls import reverse

from annotation.core.errors import AnnotationError, Unacceptable, UnknownName
from annotation.core.files.lines import text_problem
from annotation.core.names import lookalikes, trim
from annotation.core.short_names import ShortNameField, short_name_problem
from annotation.importing.formats.study_file import LONGEST_SYSTEM
from annotation.models import Event, Instance, Study, System
from annotation.studies.log import log
from annotation.studies.services import find_study, validate
from judging.models import GenerationRun, JudgeRun
from judging.runs.pair_filters import filter_of
from reporting.corrections.declarations import Correction, Effect

PART = 500


class Rename(Correction):
    """Rename the study, or one of its systems."""

    action = "rename"
    title = "Rename"
    explanation = (
        "Pages, exports and bundles carry the new name; the log has both. "
        "Files and addresses with the old name no longer match."
    )

    system = forms.CharField(
        required=False,
        max_length=LONGEST_SYSTEM,
        label="System",
        help_text="Its present name. Empty: the study’s short name is changed.",
    )
    to = forms.CharField(max_length=LONGEST_SYSTEM, label="New name")
    field_order = ("system", "to", "reason")

    def clean(self) -> dict[str, Any]:
        """Check the new short name of a study."""
        cleaned = super().clean() or {}
        if not cleaned.get("system") and "to" in cleaned:
            try:
                ShortNameField(max_length=80).clean(cleaned["to"])
            except forms.ValidationError as error:
                self.add_error("to", error)
        return cleaned

    def effects(self) -> list[Effect]:
        """List the instances of a system, or the study's addresses."""
        system = self.cleaned_data["system"]
        if not system:
            _check_short_name(self.study, self.cleaned_data["to"])
            return [Effect(1, "addresses of the study, which end")]
        row = _system(self.study, system)
        _check_system_name(self.study, row, self.cleaned_data["to"])
        instances = Instance.objects.filter(generations__system=row).distinct()
        return [
            Effect(
                instances.count(),
                f"instances with texts of {system}",
                reverse("annotation:instances", args=[self.study.slug]),
            )
        ]

    def run(self, *, by: User | None) -> str:
        """Rename the study or the system."""
        old, new, reason = (self.cleaned_data[name] for name in ("system", "to", "reason"))
        if old:
            rename_system(study=self.study, name=old, to=new, by=by, reason=reason)
            return f"System {old} is named {new} now."
        old = self.study.slug
        rename_study(study=self.study, to=new, by=by, reason=reason)
        return f"Study {old} has the short name {new} now."


@transaction.atomic
def rename_study(*, study: Study, to: str, by: User | None = None, reason: str = "") -> None:
    """Change a study's short name. Its former addresses answer 404.

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
        raise UnknownName(f"Study {study.slug} has no system {name}. It has: {names}.")
    return system


def _check_system_name(study: Study, system: System, to: str) -> None:
    if problem := text_problem(to, "the system name", longest=LONGEST_SYSTEM):
        raise Unacceptable(problem.text)
    if to != trim(to) or to == "tie":
        raise Unacceptable("A system’s name has no blanks around it, and is not “tie”.")
    others = study.systems.exclude(pk=system.pk).values_list("name", flat=True)
    if to in others:
        raise Unacceptable(f"Study {study.slug} has a system {to} already. Choose another name.")
    if to == system.name:
        raise Unacceptable(f"The system is named {to} already.")
    if other := lookalikes([to], others).get(to):
        raise Unacceptable(f"{to} differs from system {other} by case or blanks only. Choose another name.")


def _check_short_name(study: Study, to: str) -> None:
    if to == study.slug:
        raise Unacceptable(f"The study’s short name is {to} already.")
    others = Study._base_manager.exclude(pk=study.pk)
    if others.filter(slug=to).exists():
        raise Unacceptable(f"Another study has the short name {to}. Choose another one.")
    if to.casefold() != study.slug.casefold() and (problem := short_name_problem(Study, "slug", to)):
        raise Unacceptable(problem)

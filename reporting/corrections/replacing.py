"""Replacing a source or a system's text."""

from hashlib import sha256
from typing import Any

from django import forms
from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Q, QuerySet
from django.urls import reverse

from annotation.core.conversations import as_content, content_problem, from_cell, stored_messages
from annotation.core.errors import AnnotationError, Unacceptable, UnknownName
from annotation.importing.formats.study_file import LONGEST_ID, LONGEST_SYSTEM
from annotation.models import (
    Alignment,
    Assignment,
    ComparisonTable,
    Event,
    Generation,
    Instance,
    Pair,
    Rating,
    Slot,
    Study,
)
from annotation.studies.log import log
from annotation.studies.services import find_study
from judging.models import AuditAnswer, Judgment
from reporting.corrections.declarations import Correction, Effect, effects_of, refuse_active_job, refuse_active_run

Text = Generation | Instance  # a system's text, or an instance with its source


class ReplaceText(Correction):
    """Replace the source of an instance, or one text of a system."""

    action = "replace-text"
    title = "Replace this text"
    explanation = (
        "Ratings and judgments of the old text stay. Separability must be computed again. "
        "The log keeps a hash of both texts, but not the texts: export a bundle first if you need the old one."
    )

    instance = forms.CharField(max_length=LONGEST_ID, label="Instance", help_text="Its id.")
    system = forms.CharField(
        required=False, max_length=LONGEST_SYSTEM, label="System", help_text="Without one, the source is replaced."
    )
    index = forms.IntegerField(
        required=False, initial=0, min_value=0, label="Number of the text", help_text="Of a system’s texts, from 0."
    )
    text = forms.CharField(
        required=False,
        strip=False,
        label="New text",
        help_text="May be empty.",
        widget=forms.Textarea(attrs={"rows": 12, "dir": "auto"}),
    )
    field_order = ("instance", "system", "index", "text", "reason")

    def __init__(self, *args: Any, study: Study, **kwargs: Any) -> None:
        super().__init__(*args, study=study, **kwargs)
        if "instance" in self.initial and "text" not in self.initial:
            if "system" not in self.initial:  # a link to the source
                del self.fields["system"], self.fields["index"]
            named = {name: self.initial.get(name, "") for name in ("instance", "system")}
            index = str(self.initial.get("index", 0))
            self.initial["text"] = _text(
                _find(study, **named, index=int(index) if index.isdecimal() and len(index) < 5 else 0)
            )

    def clean_text(self) -> str:
        """Return the text with the line breaks of files: browsers send CR LF."""
        text: str = self.cleaned_data["text"]
        return text.replace("\r\n", "\n")

    def effects(self) -> list[Effect]:
        """List what was given on the text, or computed from it."""
        target = self._target()
        _refuse_same(target, self.cleaned_data["text"])
        _refuse_at_work(self.study, target)
        return given_on(self.study, target)

    def run(self, *, by: User | None) -> str:
        """Replace the text."""
        text, reason = self.cleaned_data["text"], self.cleaned_data["reason"]
        replace_text(study=self.study, target=self._target(), text=text, by=by, reason=reason)
        return "The text was replaced."

    @property
    def page(self) -> str:
        """The page of the instance."""
        return reverse("annotation:instance", args=[self.study.slug, _instance(self._target()).pk])

    def _target(self) -> Text:
        values = self.cleaned_data if self.is_bound else self.initial
        return _find(self.study, values["instance"], values.get("system", ""), int(values.get("index") or 0))


@transaction.atomic
def replace_text(*, study: Study, target: Text, text: str, by: User | None = None, reason: str = "") -> None:
    """Replace a text. The log gets a hash of both, since a text may be replaced because nobody may keep it.

    text : for a conversation also its new messages as JSON
    Raises: Unacceptable for the same text and for bad messages; AnnotationError while raters, judges or jobs use it.
    """
    study = find_study(study.slug, lock=True)
    # No rater claims one of these HITs until the new text is there.
    list(Slot.objects.select_for_update(of=("self",)).filter(hit__pairs__in=_pairs(target)).values_list("pk"))
    _refuse_at_work(study, target)
    field = "text" if isinstance(target, Generation) else "source"
    target = type(target)._base_manager.select_for_update(of=("self",)).get(pk=target.pk)
    _refuse_same(target, text)
    changes: dict[str, Any] = {"instance": _instance(target).instance_id}
    if isinstance(target, Generation):
        changes |= {"system": target.system.name, "text": target.index}
    both = (_text(target), text)
    changes["sha256"] = [sha256(version.encode()).hexdigest() for version in both]
    changes["characters"] = [len(version) for version in both]
    changes |= {effect.rows: effect.count for effect in given_on(study, target)}
    if isinstance(target, Generation):
        _alignments(target).delete()
    content = text if target.messages is None else from_cell(text)
    if problem := content_problem(content, "The conversation", may_be_blank=True):
        raise Unacceptable(problem.text)
    setattr(target, field, str(as_content(content)))
    target.messages = stored_messages(as_content(content))
    target.save(update_fields=[field, "messages"])
    log(study=study, kind=Event.Kind.REPLACED, by=by, reason=reason, changes=changes)


def given_on(study: Study, target: Text) -> list[Effect]:
    """List the ratings, judgments and so on that were given on a text, or computed from it."""
    pairs = _pairs(target).order_by().values("pk")
    page = reverse("annotation:instance", args=[study.slug, _instance(target).pk])
    counts = {
        "ratings": Rating.objects.filter(display__pair__in=pairs).count(),
        "judgments": Judgment.objects.filter(pair__in=pairs).exclude(status=Judgment.Status.PENDING).count(),
        "comparison tables": ComparisonTable.objects.filter(pair__in=pairs).count(),
        "stress-test answers": AuditAnswer.objects.filter(pair__in=pairs).count(),
    }
    if isinstance(target, Generation):
        counts["separability values"] = _alignments(target).count()
    return effects_of(counts, page)


def _find(study: Study, instance: str, system: str, index: int) -> Text:
    row = study.instances.filter(instance_id=instance).first()
    if row is None:
        raise UnknownName(f"Study {study.slug} has no instance {instance}.", "instance")
    if not system:
        return row
    text = row.generations.select_related("system", "instance").filter(system__name=system, index=index).first()
    if text is None:
        texts = row.generations.select_related("system").order_by("system__position", "index")
        listed = ", ".join(f"{item.system.name} {item.index}" for item in texts[:20])
        raise UnknownName(f"Instance {instance} has no text {index} of {system}. It has: {listed}.", "system")
    return text


def _text(target: Text) -> str:
    """Return a text, or the messages of a conversation as JSON."""
    return target.messages or (target.text if isinstance(target, Generation) else target.source)


def _instance(target: Text) -> Instance:
    return target.instance if isinstance(target, Generation) else target


def _pairs(target: Text) -> QuerySet[Pair]:
    if isinstance(target, Generation):
        return Pair.objects.filter(Q(generation_a=target.pk) | Q(generation_b=target.pk))
    return Pair.objects.filter(matchup__instance=target.pk)


def _alignments(target: Generation) -> QuerySet[Alignment]:
    """Return what was computed from a system's text, whether it is on a pair or not."""
    matchups = Q(matchup__system_a=target.system_id) | Q(matchup__system_b=target.system_id)
    return Alignment.objects.filter(matchups, matchup__instance=target.instance_id)


def _refuse_same(target: Text, text: str) -> None:
    if _text(target) == text:
        raise Unacceptable("The text is stored like this already.")


def _refuse_at_work(study: Study, target: Text) -> None:
    """Refuse while somebody would see one text and be counted for the other."""
    claims = Assignment.objects.claimed().filter(hit__batch__study=study, hit__pairs__in=_pairs(target)).distinct()
    if number := claims.count():
        raise AnnotationError(
            f"Raters at HITs with this text now: {number}. Wait until they are done, or release their claims."
        )
    refuse_active_run(study, "Pause it")
    refuse_active_job(study)

"""Merging two raters who are one person."""

from typing import Any

from django import forms
from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import F, Max
from django.urls import reverse

from annotation.core.errors import AnnotationError, Unacceptable, UnknownName
from annotation.models import Annotator, Assignment, Display, Event, Pair, Rating, Study
from annotation.studies.log import log
from annotation.studies.services import find_study
from reporting.corrections.declarations import Correction, Effect, effects_of

LISTED = 10  # pairs that both have


class MergeRaters(Correction):
    """Merge two raters who are one person."""

    action = "merge-raters"
    title = "Merge two raters"
    explanation = (
        "All work of the first rater moves to the second, and the first one’s code ends. This can’t be undone."
    )

    rater = forms.CharField(max_length=200, label="Rater", help_text="The code that ends.")
    into = forms.CharField(max_length=200, label="Is the same person as", help_text="The code that stays.")
    field_order = ("rater", "into", "reason")

    def __init__(self, *args: Any, study: Study, **kwargs: Any) -> None:
        super().__init__(*args, study=study, **kwargs)
        codes = study.annotators.present().exclude(code=self.initial.get("rater")).order_by("code")
        into: Any = self.fields["into"]
        into.widget = forms.Select()
        into.widget.choices = lambda: [("", ""), *codes.values_list("code", "code")]  # read where a page shows them

    def effects(self) -> list[Effect]:
        """List the work that gets another code."""
        rater, into = self._raters()
        refuse_merge(rater, into)
        counts = {
            "HITs": rater.assignments.count(),
            "ratings": Rating.objects.filter(display__assignment__annotator=rater).count(),
            "consent answers": rater.consents.count(),
        }
        page = reverse("annotation:rater", args=[self.study.slug, rater.pk])
        return effects_of(counts, page)

    @transaction.atomic
    def run(self, *, by: User | None) -> str:
        """Give all that a rater did to the other one, and delete the first."""
        rater, into = self._raters()
        study = find_study(self.study.slug, lock=True)
        locked = Annotator.objects.select_for_update(of=("self",)).select_related("user").order_by("pk")
        rows = {row.pk: row for row in locked.filter(pk__in=(rater.pk, into.pk))}
        rater, into = rows[rater.pk], rows[into.pk]
        refuse_merge(rater, into)
        ratings = Rating.objects.filter(display__assignment__annotator=rater).count()
        moved = rater.assignments.update(annotator=into)
        attempts = into.qualification_results.aggregate(last=Max("attempt"))["last"] or 0
        rater.qualification_results.update(annotator=into, attempt=F("attempt") + attempts)
        for rows_of_rater in (rater.consents, rater.messages, rater.events):
            rows_of_rater.update(annotator=into)
        # Of the account or the platform's id, the invitation and the arm a rater has one each.
        code, user, kind = rater.code, rater.user, rater.kind
        is_known = user is not None or hasattr(rater, "participant")
        for name in ("participant", "invitation", "arm_draw"):
            row: Any = getattr(rater, name, None)
            if row is not None and not hasattr(into, name):
                row.annotator = into
                row.save(update_fields=["annotator"])
        rater.delete()
        if is_known:
            into.user, into.kind = user or into.user, kind
            into.save(update_fields=["user", "kind"])
        changes = {"rater": [code, into.code], "HITs": moved, "ratings": ratings}
        reason = self.cleaned_data["reason"]
        log(study=study, kind=Event.Kind.MERGED, annotator=into, by=by, reason=reason, changes=changes)
        return f"Rater {code} is {into.code} now."

    def _raters(self) -> tuple[Annotator, Annotator]:
        return self._rater("rater"), self._rater("into")

    def _rater(self, field: str) -> Annotator:
        code, raters = self.cleaned_data[field], self.study.annotators.present().select_related("study", "user")
        rater = raters.filter(code=code, erased_at=None).first()
        if rater is None:
            raise UnknownName(f"Study {self.study.slug} has no rater {code} who has not withdrawn.", field)
        return rater


def refuse_merge(rater: Annotator, into: Annotator) -> None:
    """Refuse to merge raters where votes, pay or an arm would be lost.

    Raises: Unacceptable; AnnotationError.
    """
    if rater.pk == into.pk:
        raise Unacceptable("Name two different raters.")
    if Annotator.Kind.SCRIPTED in (rater.kind, into.kind) and rater.kind != into.kind:
        raise Unacceptable("One of them is a program, not a person.")
    if rater.excluded != into.excluded:
        raise AnnotationError("One of them is excluded from results. Exclude or include both first.")
    if both := _pairs_of_both(rater, into):
        listed = "; ".join(f"instance {pair.matchup.instance.instance_id}, pair {pair.index}" for pair in both[:LISTED])
        more = f" and {len(both) - LISTED} more" if len(both) > LISTED else ""
        raise AnnotationError(
            f"Both have, or had, HITs with {len(both)} of the same pairs, where one vote would be lost: {listed}{more}. "
            "Exclude one of them from results instead, on the rater’s page."
        )
    if Assignment.objects.claimed().filter(annotator__in=(rater, into)).count() > 1:
        raise AnnotationError("Both have a HIT at present. Release one of them first, on the rater’s page.")
    if rater.user_id and into.user_id:
        raise AnnotationError("Both have an account. Delete one of the accounts first.")
    if hasattr(rater, "participant") and hasattr(into, "participant"):
        raise AnnotationError("Both came from a platform, which pays each of them.")
    if len({row.arm_draw.arm for row in (rater, into) if hasattr(row, "arm_draw")}) > 1:
        raise AnnotationError("They are in different arms. A rater is in one arm throughout.")


def _pairs_of_both(rater: Annotator, into: Annotator) -> list[Pair]:
    """Return the pairs that both were shown, or that are on a HIT of both."""
    shown = Display.objects.filter(assignment__annotator=rater).order_by().values("pair")
    hits = rater.assignments.order_by().values("hit")
    both = Pair.objects.filter(pk__in=shown, displays__assignment__annotator=into)
    on_hits = Pair.objects.filter(hits__in=hits, hits__assignments__annotator=into)
    keys = {*both.values_list("pk", flat=True), *on_hits.values_list("pk", flat=True)}
    return list(Pair.objects.select_related("matchup__instance").filter(pk__in=keys))

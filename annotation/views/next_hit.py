"""The way to the next HIT: past every question that comes before it, or to the reason why there is none."""

from dataclasses import dataclass, field
from datetime import datetime

from django.contrib.auth.models import User
from django.db.models import F, FilteredRelation, Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from annotation.access import for_eyes_only, holds_any
from annotation.errors import AnnotationError, ClaimRefused, ConsentNeeded
from annotation.models import Annotator, Study
from annotation.models.people import Role
from annotation.prepared import Prepared
from annotation.recruitment.base import Farewell
from annotation.services.accounts import annotator_for
from annotation.services.claims import claim_hit, has_work, why_nothing
from annotation.services.consent import latest_consent
from annotation.services.farewells import farewell_of
from annotation.services.qualification import standing
from annotation.services.waiting import ended
from annotation.signed_in import account_named, signed_in


@dataclass
class _Round:
    """What was met in going through the studies of one annotator, until a HIT was found or none."""

    known: list[Annotator] = field(default_factory=list)
    declined: list[Annotator] = field(default_factory=list)
    failed: list[Annotator] = field(default_factory=list)
    reasons: list[str] = field(default_factory=list)

    def go_on(self, user: User, study: Study, now: datetime) -> HttpResponse | None:
        """Return the way on in this study, or None and remember why there is none."""
        known = study.annotator  # type: ignore[attr-defined]
        annotator = Annotator(pk=known, study=study) if known else annotator_for(user=user, study=study)
        try:
            return redirect("annotation:hit", claim_hit(annotator=annotator, at=now).key)
        except (ConsentNeeded, ClaimRefused) as refusal:
            annotator = annotator_for(user=user, study=study)  # whole: a claim needs its number only
            self.known.append(annotator)
            return self._instead(annotator, refusal, now)

    def _instead(self, annotator: Annotator, refusal: AnnotationError, now: datetime) -> HttpResponse | None:
        """Return where an annotator is led that gets no HIT here, or None and remember why."""
        if isinstance(refusal, ConsentNeeded):
            if not has_work(annotator):  # nobody is asked for consent to nothing
                self.reasons.append(why_nothing(annotator, now))
            elif latest_consent(annotator) is None:
                return redirect("annotation:consent", annotator.study.key)
            else:
                self.declined.append(annotator)
        else:  # there may be another study
            found = standing(annotator)
            if found.awaits_retry and has_work(annotator):
                return redirect("annotation:qualification", annotator.study.key)
            if found.required and not found.attempts_left:
                self.failed.append(annotator)
            self.reasons.append(str(refusal))
        return None

    def farewell(self, now: datetime) -> Farewell | None:
        """Return the way back to where the annotator came from, once no study has anything for them."""
        found = (farewell_of(annotator=one, at=now) for one in self.known)
        return next((farewell for farewell in found if farewell is not None), None)


def _studies(user: int) -> QuerySet[Study]:
    mine = FilteredRelation("annotators", condition=Q(annotators__user=user))
    return Study.objects.granted(user, Role.ANNOTATOR).with_work_for(user).annotate(mine=mine, annotator=F("mine__pk"))


_STUDIES = Prepared(_studies)


@signed_in
@never_cache
@require_safe
@for_eyes_only
def rate(request: HttpRequest) -> HttpResponse:
    """Lead an annotator to their current HIT, to a question that comes first, or to the next HIT."""
    user, now = account_named(request), timezone.now()
    studies = _STUDIES.all(user=user.pk)
    if not studies and not holds_any(user, Role.ANNOTATOR):
        return render(request, "annotation/no_role.html", {"wanted": "annotator"}, status=403)
    met = _Round()
    for study in studies:
        if (way := met.go_on(user, study, now)) is not None:
            return way
    farewell = met.farewell(now)
    if met.failed and not met.declined and farewell is None:
        return redirect("annotation:qualification", met.failed[0].study.key)  # says how it ended, in kind words
    over = [annotator.study for annotator in met.known if ended(annotator)]
    context = {
        "reason": _why(met),
        "farewell": farewell,
        "declined": met.declined,
        "studies": [annotator.study for annotator in met.known],
        "all_over": bool(over) and len(over) == len(met.known),
        "pays": any(study.pay_per_hit for study in over),
    }
    return render(request, "annotation/nothing_to_rate.html", context)


def _why(met: _Round) -> str:
    if met.declined:
        return _("You declined the consent question, so there is nothing for you to rate.")
    return " ".join(dict.fromkeys(met.reasons)) or _(
        "Nothing is open for rating at the moment. Please look again later."
    )

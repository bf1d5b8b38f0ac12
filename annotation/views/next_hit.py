"""The way to the next HIT: past every question that comes before it, or to the reason why there is none."""

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from annotation.access import account_of, for_eyes_only, holds_any
from annotation.errors import ClaimRefused
from annotation.models import Annotator, Assignment, Study
from annotation.models.people import Role
from annotation.services.accounts import annotator_for
from annotation.services.claims import claim_hit, has_work, release_expired, why_nothing
from annotation.services.consent import has_consented, latest_consent
from annotation.services.qualification import standing
from annotation.services.waiting import ended


@login_required
@never_cache
@require_safe
@for_eyes_only
def rate(request: HttpRequest) -> HttpResponse:
    """Lead an annotator to their current HIT, to a question that comes first, or to the next HIT."""
    if not holds_any(request.user, Role.ANNOTATOR):
        return render(request, "annotation/no_role.html", {"wanted": "annotator"}, status=403)
    user, now = account_of(request), timezone.now()
    at_work = set(Assignment.objects.held_by(user).claimed().values_list("annotator__study_id", flat=True))
    studies = Study.objects.seen_by(user, Role.ANNOTATOR).with_work_for(user)
    declined: list[Annotator] = []
    reasons: list[str] = []
    failed: list[Study] = []
    known: list[Study] = []
    over: list[Study] = []
    for study in sorted(studies, key=lambda study: study.pk not in at_work):
        annotator = annotator_for(user=user, study=study)
        known.append(study)
        if has_consented(annotator):
            try:
                return redirect("annotation:hit", claim_hit(annotator=annotator, at=now).key)
            except ClaimRefused as refusal:  # there may be another study
                found = standing(annotator)
                if found.awaits_retry and has_work(annotator):
                    return redirect("annotation:qualification", study.key)
                if found.required and not found.attempts_left:
                    failed.append(study)
                if ended(annotator):
                    over.append(study)
                reasons.append(str(refusal))
            continue
        release_expired(study=study, at=now)
        if not has_work(annotator):  # nobody is asked for consent to nothing
            reasons.append(why_nothing(annotator, now))
        elif latest_consent(annotator) is None:
            return redirect("annotation:consent", study.key)
        else:
            declined.append(annotator)
    if failed and not declined:
        return redirect("annotation:qualification", failed[0].key)  # says how it ended, in kind words
    context: dict[str, object] = {
        "reason": _why(reasons, declined),
        "declined": declined,
        "studies": known,
    }
    context["all_over"] = bool(over) and len(over) == len(known)
    context["pays"] = any(study.pay_per_hit for study in over)
    return render(request, "annotation/nothing_to_rate.html", context)


def _why(reasons: list[str], declined: list[Annotator]) -> str:
    if declined:
        return _("You declined the consent question, so there is nothing for you to rate.")
    return " ".join(dict.fromkeys(reasons)) or _("Nothing is open for rating at the moment. Please look again later.")

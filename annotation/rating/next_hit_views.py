"""The way to an annotator's next HIT, to a page that comes before it, or to the reason why there is none."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.db.models import Exists, F, FilteredRelation, OuterRef, Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from annotation.allocation.claims import claim_at_once, claim_hit, has_work
from annotation.allocation.no_work import has_ended, no_work_reason
from annotation.allocation.revision import PERIOD, last_revisable
from annotation.annotators.consent import latest_consent
from annotation.annotators.participants import channel_of
from annotation.core.database.prepared import Prepared
from annotation.core.errors import AnnotationError, ClaimRefused, ConsentNeeded
from annotation.core.http import page_base, skip_prefetch
from annotation.members.accounts import annotator_for
from annotation.members.permissions import account_of, has_any_role
from annotation.models import Annotator, Assignment, Batch, Study
from annotation.models.members import Role
from annotation.quality.qualification import qualification_status
from annotation.rating.vote_context import hit_address
from annotation.rating.votes import IS_COUNTED
from annotation.recruitment.base import CompletionMessage, WorkOutcome, adapter_of


@dataclass
class _StudySearch:
    """The search through an annotator's studies for a HIT, and why each study had none."""

    known: list[Annotator] = field(default_factory=list)
    declined: list[Annotator] = field(default_factory=list)
    failed: list[Annotator] = field(default_factory=list)
    reasons: list[str] = field(default_factory=list)

    def try_study(self, user: User, study: Study, now: datetime) -> Assignment | HttpResponse | None:
        """Return a HIT of this study or a redirect to what precedes it. Without either, return None and keep the reason."""
        existing = study.annotator
        annotator = Annotator(pk=existing, study=study) if existing else annotator_for(user=user, study=study)
        try:
            return claim_hit(annotator=annotator, at=now)
        except (ConsentNeeded, ClaimRefused) as refusal:
            annotator = annotator_for(user=user, study=study)  # all its fields: a claim needs the pk only
            self.known.append(annotator)
            return self._after_refusal(annotator, refusal, now)

    def _after_refusal(self, annotator: Annotator, refusal: AnnotationError, now: datetime) -> HttpResponse | None:
        """Return a redirect to consent or qualification. Where neither helps, return None and keep the reason."""
        if isinstance(refusal, ConsentNeeded):
            if not has_work(annotator):  # no consent question where no HIT would follow
                self.reasons.append(no_work_reason(annotator, now))
            elif latest_consent(annotator) is None:
                return redirect("annotation:consent", annotator.study.key)
            else:
                self.declined.append(annotator)
        else:
            status = qualification_status(annotator)
            if status.awaits_retry and has_work(annotator):
                return redirect("annotation:qualification", annotator.study.key)
            if status.required and not status.attempts_left:
                self.failed.append(annotator)
            self.reasons.append(str(refusal))
        return None

    def completion_message(self, user: User, now: datetime) -> CompletionMessage | None:
        """Return the channel's completion message once no study has a HIT for the annotator.

        Studies without an open batch included: a completion code stays valid when the batch ends.
        """
        keys = {annotator.pk for annotator in self.known}
        for annotator in Annotator.objects.filter(user=user).select_related("study").order_by("pk"):
            completion_message = completion_message_of(annotator=annotator, at=now)
            if completion_message is not None:
                if annotator.pk not in keys:
                    self.known.append(annotator)
                return completion_message
        return None


def _studies(user: int) -> QuerySet[Study]:
    columns = {"mine": FilteredRelation("annotators", condition=Q(annotators__user=user)), "annotator": F("mine__pk")}
    return Study.objects.granted(user, Role.ANNOTATOR).with_work_for(user).annotate(**columns)


def _first_study(user: int) -> "QuerySet[Study, tuple[int, bool]]":
    open_batches = Batch.objects.open().filter(study=OuterRef("pk"), origin=Batch.Origin.COLLECTED).order_by()
    unfinished = Assignment.objects.unfinished().filter(annotator__user=user).order_by()
    studies = Study.objects.granted(user, Role.ANNOTATOR).active().filter(Exists(open_batches)).order_by("slug")
    return studies.annotate(any_unfinished=Exists(unfinished)).values_list("pk", "any_unfinished")[:1]


_STUDIES, _FIRST_STUDY = Prepared(_studies), Prepared(_first_study)


def claim_following(submitted: Assignment, now: datetime) -> Assignment | None:
    """Claim an annotator's next HIT within the transaction that has submitted the one before.

    None where `next_hit` has to be asked after that transaction: it resumes unfinished HITs, and locks annotators of
    other studies and slots of other HITs, in which it could meet another transaction that waits for this one. Where no
    slot is free, it releases expired claims (else the worker does, some seconds later) and knows why there is no HIT.
    """
    if submitted.late or submitted.purpose != Assignment.Purpose.RATING:  # has locked slots, or may release some
        return None
    if _FIRST_STUDY.first(user=submitted.annotator.user_id) != (submitted.annotator.study_id, False):
        return None
    return claim_at_once(annotator=submitted.annotator, at=now)


@login_required
@never_cache
@require_safe
@skip_prefetch
def rate(request: HttpRequest) -> HttpResponse:
    """Lead an annotator to their current HIT, to a question that comes first, or to the next HIT."""
    response = next_hit(request)
    return redirect("annotation:hit", response.key) if isinstance(response, Assignment) else response


def next_hit(request: HttpRequest) -> Assignment | HttpResponse:
    """Return an annotator's current or next HIT, or a page with the reason, or a redirect to what comes first."""
    user, now = account_of(request), timezone.now()
    studies = _STUDIES.all(user=user.pk)
    if not studies and not has_any_role(user, Role.ANNOTATOR):
        return render(request, "annotation/members/no_role.html", {"wanted": "annotator"}, status=403)
    search = _StudySearch()
    for study in studies:
        if (assignment := search.try_study(user, study, now)) is not None:
            return assignment
    completion_message = search.completion_message(user, now)
    if search.failed and not search.declined and completion_message is None:
        return redirect("annotation:qualification", search.failed[0].study.key)  # explains the result
    stays = completion_message is None or not completion_message.leaves
    ended_studies = [annotator.study for annotator in search.known if has_ended(annotator)]
    context = {
        "base": page_base(request),
        "thanks": Assignment.objects.filter(annotator__in=search.known, submitted_at__isnull=False).exists(),
        # A rater who is sent back to a platform gets no second instruction, such as to wait.
        "reason": _reason(search) if stays or search.declined or search.failed or ended_studies else "",
        "completion_message": completion_message,
        "declined": search.declined,
        "studies": [annotator.study for annotator in search.known],
        "last_hit": last_hit_link(user.pk, now),
        "look_again": stays and not (ended_studies and len(ended_studies) == len(search.known)),
        "pays": any(study.pay_for(1) for study in ended_studies),
    }
    return render(request, "annotation/rating/nothing_to_rate.html", context)


def last_hit_link(user: int, now: datetime, latest: Assignment | None = None) -> dict[str, Any] | None:
    """Return the address of the HIT that a rater may still change, and for how many seconds, or None without one.

    latest : the HIT that they submitted last, where that is known
    """
    last = last_revisable(user, now, latest)
    if last is None or last.submitted_at is None:
        return None
    return {"address": hit_address(last), "seconds": int((last.submitted_at + PERIOD - now).total_seconds())}


def _reason(search: _StudySearch) -> str:
    if search.declined:
        return _("You declined the consent question, so there is nothing for you to rate.")
    return " ".join(dict.fromkeys(search.reasons)) or _(
        "Nothing is open for rating at the moment. Please look again later."
    )


def completion_message_of(*, annotator: Annotator, at: datetime) -> CompletionMessage | None:
    """Return the completion message of an annotator's channel, or None without a channel."""
    channel = channel_of(annotator)
    if channel is None:
        return None
    adapter = adapter_of(channel)
    return adapter.completion_message(
        annotator=annotator, outcome=outcome_of(annotator, adapter.work_of(annotator)), at=at
    )


def outcome_of(annotator: Annotator, mine: QuerySet[Assignment]) -> WorkOutcome:
    """Return how an annotator's work on these HITs ended.

    One counted or paid HIT makes it completed, whatever came after: they are owed for that work.
    """
    submitted = mine.filter(state=Assignment.State.SUBMITTED)
    if (submitted if annotator.study.pay_late else submitted.filter(IS_COUNTED)).exists():
        return WorkOutcome.COMPLETED
    consent, qualification = latest_consent(annotator), qualification_status(annotator)
    declined = consent is not None and not consent.accepted
    failed = qualification.required and not qualification.attempts_left
    if declined or failed or annotator.excluded or annotator.blocked_at or annotator.withdrawn_at:
        return WorkOutcome.SCREENED_OUT
    if submitted.exists() or mine.filter(state=Assignment.State.EXPIRED).exists():
        return WorkOutcome.TIMED_OUT
    return WorkOutcome.NOTHING

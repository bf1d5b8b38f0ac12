"""The pay that a study owes to each rater: the sum over submissions."""

from typing import Any

from django.db.models import Count, Q, Sum

from annotation.core.counting import to_cents
from annotation.models import Annotator, Assignment, Rating, Study
from annotation.models.rating import COUNTS
from annotation.questions.questions import MAIN

SUBMITTED = Assignment.State.SUBMITTED
PAID_HERE = (Annotator.Kind.ACCOUNT, Annotator.Kind.INVITED, Annotator.Kind.ANONYMOUS)
PAID_BY_PLATFORM = (Annotator.Kind.PROLIFIC, Annotator.Kind.MTURK)


OF_PRESENT = ("name", "channel", "hits", "counted", "late", "rejected", "pay_rejected", "minutes")
COLUMNS = (
    *("code", "name", "channel", "withdrawn", "hits", "counted", "late", "rejected"),
    *("pay_due", "pay_rejected", "currency", "minutes"),
)


def payments_of(study: Study, *, platforms: bool = False) -> list[dict[str, Any]]:
    """Return rows of `COLUMNS` on what is owed to each rater with a submitted HIT, by code. Amounts are texts, thus exact.

    platforms : include raters whom their platform pays

    name         : of the account, if it has one
    channel      : kind of the annotator
    hits         : submitted, with hidden checks, without the unpaid qualification
    counted      : fill a slot, and neither they nor the rater are excluded
    late         : submitted after expiry
    rejected     : submitted, then rejected
    pay_due      : for all of them; None if the study has no pay
    pay_rejected : the part for rejected HITs; whether it is paid is up to the study
    minutes      : active on the pages

    Of a rater who has withdrawn, only code and sum are given.
    """
    kinds = (*PAID_HERE, *PAID_BY_PLATFORM) if platforms else PAID_HERE
    annotators = study.annotators.filter(kind__in=kinds).select_related("user").in_bulk()
    submitted = Assignment.objects.filter(hit__batch__study=study, annotator__kind__in=kinds, state=SUBMITTED)
    own = ~Q(purpose=Assignment.Purpose.QUALIFICATION)
    sums = (
        submitted.order_by()
        .values("annotator")
        .annotate(
            hits=Count("pk", filter=own),
            counted=Count("pk", filter=own & COUNTS),
            late=Count("pk", filter=own & Q(late=True)),
            rejected=Count("pk", filter=own & Q(excluded=True)),
            due=Sum("pay_due"),
            due_rejected=Sum("pay_due", filter=Q(excluded=True)),
        )
    )
    seconds = dict(
        Rating.objects.for_question(MAIN)
        .filter(
            display__assignment__hit__batch__study=study,
            display__assignment__annotator__kind__in=kinds,
            display__assignment__state=SUBMITTED,
        )
        .exclude(display__assignment__purpose=Assignment.Purpose.QUALIFICATION)
        .order_by()
        .values_list("display__assignment__annotator")
        .annotate(seconds=Sum("active_seconds"))
    )
    rows = []
    for sum_of in sums:
        annotator = annotators.get(sum_of["annotator"])
        if annotator is None or not (sum_of["hits"] or sum_of["due"]):
            continue
        active = seconds.get(annotator.pk)
        account = annotator.user if annotator.kind == Annotator.Kind.ACCOUNT else None  # a link's has no name
        row = {
            "code": annotator.code,
            "name": "" if account is None else account.get_full_name() or account.username,
            "channel": annotator.kind,
            "withdrawn": annotator.withdrawn_at is not None,
            **{name: sum_of[name] for name in ("hits", "counted", "late", "rejected")},
            "pay_due": None if sum_of["due"] is None else str(to_cents(sum_of["due"])),
            "pay_rejected": None if sum_of["due_rejected"] is None else str(to_cents(sum_of["due_rejected"])),
            "currency": study.currency,
            "minutes": None if active is None else round(active / 60, 2),
        }
        if row["withdrawn"]:
            row |= {name: "" if name in ("name", "channel") else None for name in OF_PRESENT}
        rows.append(row)
    return sorted(rows, key=lambda row: row["code"])

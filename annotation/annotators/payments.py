"""The pay that a study owes to each rater: the sum over submissions."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from decimal import Decimal
from typing import Any

from django.db.models import Count, Q, Sum

from annotation.core.counting import to_cents
from annotation.models import Annotator, Assignment, Rating, Study
from annotation.questions.questions import MAIN

SUBMITTED = Assignment.State.SUBMITTED
PAID_HERE = (Annotator.Kind.ACCOUNT, Annotator.Kind.INVITED, Annotator.Kind.ANONYMOUS)
PAID_BY_PLATFORM = (Annotator.Kind.PROLIFIC, Annotator.Kind.MTURK)


@dataclass(frozen=True)
class Payment:
    """The pay due to one rater. For a rater who has withdrawn, only code and sum are given.

    name         : of the account, if it has one
    channel      : kind of the annotator
    hits         : submitted, with hidden checks, without the unpaid qualification
    counted      : fill a slot, and neither they nor the rater are excluded
    late         : submitted after expiry
    rejected     : submitted, then rejected
    pay_due      : for all of them; None if the study has no pay
    pay_rejected : the part for rejected HITs; whether it is paid is up to the study
    minutes      : active on the pages
    """

    code: str
    name: str
    channel: str
    withdrawn: bool
    hits: int | None
    counted: int | None
    late: int | None
    rejected: int | None
    pay_due: Decimal | None
    pay_rejected: Decimal | None
    currency: str
    minutes: float | None


COLUMNS = tuple(Payment.__dataclass_fields__)


def payments_of(study: Study, *, platforms: bool = False) -> list[Payment]:
    """Return what is owed to each rater with a submitted HIT, by code.

    platforms : include raters whom their platform pays
    """
    kinds = (*PAID_HERE, *PAID_BY_PLATFORM) if platforms else PAID_HERE
    annotators = {
        annotator.pk: annotator for annotator in study.annotators.filter(kind__in=kinds).select_related("user")
    }
    submitted = Assignment.objects.filter(hit__batch__study=study, annotator__kind__in=kinds, state=SUBMITTED)
    own = ~Q(purpose=Assignment.Purpose.QUALIFICATION)
    filled = Q(slot__isnull=False, excluded=False, annotator__excluded=False)
    sums = (
        submitted.order_by()
        .values("annotator")
        .annotate(
            hits=Count("pk", filter=own),
            counted=Count("pk", filter=own & filled),
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
    rows = [
        _payment(annotators[row["annotator"]], row, seconds.get(row["annotator"]), study)
        for row in sums
        if row["annotator"] in annotators and (row["hits"] or row["due"])
    ]
    return sorted(rows, key=lambda row: row.code)


def _payment(annotator: Annotator, sums: Mapping[str, Any], seconds: float | None, study: Study) -> Payment:
    gone = annotator.withdrawn_at is not None
    return Payment(
        code=annotator.code,
        name="" if gone else _name(annotator),
        channel="" if gone else annotator.kind,
        withdrawn=gone,
        hits=None if gone else sums["hits"],
        counted=None if gone else sums["counted"],
        late=None if gone else sums["late"],
        rejected=None if gone else sums["rejected"],
        pay_due=to_cents(sums["due"]),
        pay_rejected=None if gone else to_cents(sums["due_rejected"]),
        currency=study.currency,
        minutes=None if gone or seconds is None else round(seconds / 60, 2),
    )


def _name(annotator: Annotator) -> str:
    """Return the name of an account. Accounts created by a link have none."""
    if annotator.kind != Annotator.Kind.ACCOUNT or annotator.user is None:
        return ""
    return annotator.user.get_full_name() or annotator.user.username


def payment_rows(payments: list[Payment]) -> list[dict[str, Any]]:
    """Return payments as rows of `COLUMNS`. Amounts as text, which is exact."""
    rows = []
    for payment in payments:
        row = asdict(payment)
        for name in ("pay_due", "pay_rejected"):
            row[name] = None if row[name] is None else str(row[name])
        rows.append(row)
    return rows

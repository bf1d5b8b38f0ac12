"""What a study owes to whom. It is settled HIT by HIT at submission; here it is only added up."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from decimal import Decimal
from typing import Any

from django.db.models import Count, Q, Sum

from annotation.models import Annotator, Assignment, Rating, Study
from annotation.money import to_cents

SUBMITTED = Assignment.State.SUBMITTED
PAID_HERE = (Annotator.Kind.ACCOUNT, Annotator.Kind.INVITED, Annotator.Kind.ANONYMOUS)
PAID_BY_PLATFORM = (Annotator.Kind.PROLIFIC, Annotator.Kind.MTURK)


@dataclass(frozen=True)
class Payment:
    """What one rater is owed. Of whoever has withdrawn the sum is all that is shown, under their code.

    name         : of the account, where it is one with a name
    channel      : how they came; platforms pay their own
    hits         : submitted, hidden checks among them, the unpaid qualification not
    counted      : fill a slot and are neither rejected nor of an excluded rater
    late         : submitted after their time
    rejected     : submitted, and rejected since
    pay_due      : for all of them; None where the study names no pay
    pay_rejected : how much of it is for rejected HITs: whether that is paid is the study's decision
    minutes      : of activity on the pages
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
    """Return what is owed to each rater with a submitted HIT, in three queries, by code.

    platforms : also those whom their platform pays
    """
    kinds = (*PAID_HERE, *PAID_BY_PLATFORM) if platforms else PAID_HERE
    annotators = {one.pk: one for one in study.annotators.filter(kind__in=kinds).select_related("user")}
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
        Rating.objects.filter(
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
    """Name an account that somebody signs in to; accounts that a link makes have no name."""
    if annotator.kind != Annotator.Kind.ACCOUNT or annotator.user is None:
        return ""
    return annotator.user.get_full_name() or annotator.user.username


def payment_rows(payments: list[Payment]) -> list[dict[str, Any]]:
    """Return payments as rows of `COLUMNS`; sums as text, which loses no cent."""
    rows = []
    for payment in payments:
        row = asdict(payment)
        for name in ("pay_due", "pay_rejected"):
            row[name] = None if row[name] is None else str(row[name])
        rows.append(row)
    return rows

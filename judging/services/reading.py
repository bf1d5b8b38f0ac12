"""How a stored completion becomes a verdict or a failure, at once or again with a better parser."""

from collections.abc import Iterable
from dataclasses import dataclass

from django.db import transaction
from django.utils import timezone

from analysis.types import Verdict
from judging.errors import UnparsedVerdict
from judging.judges import PromptedMethod
from judging.judges.answers import is_refusal
from judging.models import Completion, JudgeRun, Judgment
from judging.services.presentations import in_study_order

MAX_SAMPLES = 3
REREAD_CHUNK = 500


@dataclass(frozen=True)
class Reading:
    """What one completion says; the verdict is in screen order."""

    status: str
    verdict: Verdict | None = None
    rationale: str = ""
    failure: str = ""


def read(method: PromptedMethod, completion: Completion) -> Reading:
    """Read a completion: a verdict that is there counts, however the answer ended."""
    if declined := refusal_of(completion):
        return Reading(Judgment.Status.REFUSED, failure=declined)
    try:
        verdict = method.parse(completion.text)
        return Reading(Judgment.Status.PARSED, verdict, method.rationale(completion.text))
    except UnparsedVerdict as error:
        if is_refusal(completion.text):
            return Reading(Judgment.Status.REFUSED, failure=completion.text[:300])
        cut = "cut off at the length limit; " if completion.finish_reason == "length" else ""
        return Reading(Judgment.Status.UNPARSED, failure=f"{cut}{error}")


def refusal_of(completion: Completion) -> str:
    """Return the refusal that the API itself marks, apart from the text; empty when there is none."""
    choices = completion.response.get("choices") or [{}]
    refusal = (choices[0].get("message") or {}).get("refusal")
    if isinstance(refusal, str) and refusal.strip():
        return refusal[:300]
    return "stopped by the endpoint's content filter" if completion.finish_reason == "content_filter" else ""


def apply(judgment: Judgment, reading: Reading) -> None:
    """Write a reading into a judgment, turning the verdict into study order. Saves nothing."""
    judgment.status = reading.status
    judgment.verdict = None if reading.verdict is None else int(in_study_order(reading.verdict, judgment.order))
    judgment.rationale = reading.rationale
    judgment.failure = reading.failure


def reread(run: JudgeRun, method: PromptedMethod) -> int:
    """Read a run's completions again where an older parser did; makes no call. Returns how many were read."""
    old = run.judgments.exclude(completions=None).exclude(parser_version=method.parser_version)
    ids = list(old.order_by("pk").values_list("pk", flat=True).distinct())
    for start in range(0, len(ids), REREAD_CHUNK):
        with transaction.atomic():
            chunk = Judgment.objects.filter(pk__in=ids[start : start + REREAD_CHUNK])
            judgments = list(chunk.prefetch_related("completions"))
            for judgment in judgments:
                apply(judgment, first_readable(method, judgment.completions.all()))
                judgment.parser_version = method.parser_version
                judgment.judged_at = timezone.now()
            fields = ["status", "verdict", "rationale", "failure", "parser_version", "judged_at"]
            Judgment.objects.bulk_update(judgments, fields)
    return len(ids)


def first_readable(method: PromptedMethod, completions: Iterable[Completion]) -> Reading:
    """Return the reading of the first sample that is more than unparsed, else of the last one."""
    reading = Reading(Judgment.Status.UNPARSED, failure="no completion")
    for completion in sorted(completions, key=lambda completion: completion.sample):
        reading = read(method, completion)
        if reading.status != Judgment.Status.UNPARSED:
            break
    return reading

"""Whether a judge had changed before a run of it: found by a check of drift, in whatever study."""

from django.utils import timezone

from judging.models import JudgeAudit, JudgeRun


def drift_before(run: JudgeRun) -> JudgeAudit | None:
    """Return the latest check that found the judge changed before a run ended; None if there is none."""
    until = run.finished_at or timezone.now()
    found = JudgeAudit.objects.filter(judge=run.judge_id, kind=JudgeAudit.Kind.DRIFT, found__drifted=True)
    return found.filter(created_at__lte=until).order_by("-created_at").first()


def drift_warning(run: JudgeRun) -> str:
    """Return the warning for a terminal; empty without one."""
    check = drift_before(run)
    if check is None or check.found is None:
        return ""
    shares = [check.found[name]["value"] for name in ("changed", "by_chance")]
    return (
        f"judge {run.judge} had changed when it was checked on {check.created_at:%Y-%m-%d}: {shares[0]:.0%} of its verdicts on "
        f"pinned pairs, {shares[1]:.0%} by chance; don't compare its verdicts from before and after"
    )

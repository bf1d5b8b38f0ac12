"""Checking a study's comparison tables by an entailment judge, which scores what follows from the texts and what is covered."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.utils import timezone

from annotation.models import Study
from judging.calls.adhoc import ProcedureUsage, run_procedure
from judging.calls.requests import AdhocRequests
from judging.models import Endpoint, TableCheck
from judging.tables.checked_tables import model_figures
from judging.tables.entailment_calls import asking, name_of, open_tables


@dataclass(frozen=True)
class EntailmentProgress:
    """Counts of tables by the result of their check.

    made, kept : tables checked now, and before
    unread     : tables without a check, since an answer about them can't be read
    """

    made: int
    kept: int
    unread: int
    usage: ProcedureUsage


def check_entailment(
    study: Study, *, endpoint: Endpoint, variant: str = "", params: Mapping[str, Any] | None = None, **running: Any
) -> EntailmentProgress:
    """Check every table of a study, or of a variant, that this model has not checked yet. Repeating it resumes.

    params  : sent with each call
    running : further arguments of `run_procedure`
    Raises: as `run_procedure`; BadSettings if another endpoint has checked tables under this model's name
    """
    tables, checked = open_tables(study, endpoint=endpoint, variant=variant)
    requests = AdhocRequests(endpoint, params=params)
    outcome = run_procedure(asking(tables), endpoint=endpoint, requests=requests, **running)
    answers = iter(outcome.result)
    results = [(table.table, table.found([next(answers) for _call in table.calls()])) for table in tables]
    now = timezone.now()
    checks = [
        TableCheck(table=table, endpoint=endpoint, model=name_of(endpoint), found=result, made_at=now)
        for table, result in results
        if result is not None
    ]
    TableCheck.objects.bulk_create(checks, ignore_conflicts=True)  # another process may have stored them
    return EntailmentProgress(len(checks), checked, len(results) - len(checks), outcome.usage)


LEVEL = {"level": 0.95}


def checked_by_entailment(study: Study, *, endpoint: Endpoint, variant: str, **running: Any) -> dict[str, Any]:
    """Check by a chat model's answers, and return what came of it with the figures of all tables by variant. Arguments and errors as of `check_entailment`."""
    done = check_entailment(study, endpoint=endpoint, variant=variant, **running)
    figures, usage = model_figures(study, model=name_of(endpoint), variant=variant), done.usage
    return {
        "study": study.slug,
        "model": name_of(endpoint),
        **{name: getattr(done, name) for name in ("made", "kept", "unread")},
        "calls": usage.calls,
        "cached": usage.cached,
        "cost": None if usage.total.cost is None else float(usage.total.cost),
        "variants": {
            name: {
                part: vars(figure) | LEVEL
                for part, figure in (("entailment", row.entailment), ("coverage", row.coverage))
            }
            for name, row in figures.items()
        },
    }

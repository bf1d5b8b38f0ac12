"""The table of a study's pairs, kept in memory while what it is made from stays the same."""

import time
from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import replace
from threading import Lock

from django.db.models import Count, Max, Q

from annotation.models import Annotator, Assignment, Event, Rating, Study, VoteChange
from judging.models import Judgment
from reporting.disagreements.pair_table import PairTable, pair_table
from reporting.findings.inputs import Filters
from reporting.findings.reading import read_study

MOST_KEPT = 2  # tables in a process: each takes 32 bytes a vote
LONGEST = 60.0  # seconds: a judge's answers that are read again by a new parser leave no trace in the version

_kept: OrderedDict[Hashable, tuple[float, Hashable, PairTable]] = OrderedDict()
_lock = Lock()


def read_table(study: Study, filters: Filters) -> PairTable:
    """Read the pairs of a study with all votes and verdicts; `filters` as of findings, whose `judges` plays no part.

    Raises: UnknownName for an unknown batch.
    """
    filters = replace(filters, judges=None)
    key, version = (study.key, filters), _version(study)
    with _lock:  # readers who come together wait for one table
        made, of_version, table = _kept.get(key, (0.0, None, None))
        if table is None or of_version != version or time.monotonic() - made > LONGEST:
            table = _read(study, filters)
            _kept[key] = time.monotonic(), version, table
        _kept.move_to_end(key)
        while len(_kept) > MOST_KEPT:
            _kept.popitem(last=False)
    return table


def _read(study: Study, filters: Filters) -> PairTable:
    first = read_study(study, filters).configurations
    if not study.is_two_stage:
        return pair_table(first)
    return pair_table(first, read_study(study, replace(filters, stage=Rating.Stage.REVISED, judges=())).configurations)


def _version(study: Study) -> Hashable:
    """Return what changes with a study's votes, verdicts, exclusions and separability."""
    rows = (Rating.objects.of_every_question(), VoteChange.objects.of_every_question(), Event.objects.all())
    latest = [found.order_by("-pk").values_list("pk", flat=True).first() for found in rows]
    people = Annotator.objects.filter(study=study).aggregate(
        withdrawn=Count("pk", filter=Q(withdrawn_at__isnull=False)),
        excluded=Count("pk", filter=Q(excluded=True)),
    )
    work = Assignment.objects.filter(annotator__study=study, state=Assignment.State.SUBMITTED).count()
    judged = Judgment.objects.of_every_question().filter(run__study=study).order_by()
    answers = judged.values_list("run", "status").annotate(n=Count("pk")).order_by("run", "status")
    separability = study.separability_runs.aggregate(at=Max("computed_at"))
    return (*latest, *people.values(), work, tuple(answers), separability["at"])

"""What a process keeps of a study's numbers between requests, while what they are made from stays the same."""

import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from threading import Lock
from typing import Generic, TypeVar

from django.db.models import Count, Max, Q

from annotation.models import Annotator, Assignment, Event, Rating, Study, VoteChange
from judging.models import Judgment

LONGEST = 60.0  # seconds: a judge's answers that are read again by a new parser leave no trace in the version
Made = TypeVar("Made")


class Kept(Generic[Made]):
    """The latest few of what was made, each as long as its version holds, but at most for some seconds."""

    def __init__(self, most: int, longest: float = LONGEST) -> None:
        self.most = most
        self.longest = longest
        self._kept: OrderedDict[Hashable, tuple[float, Hashable, Made]] = OrderedDict()
        self._lock = Lock()

    def get(self, key: Hashable, version: Hashable, make: Callable[[], Made]) -> Made:
        """Return what is kept under a key in this version, or make it; those who come together wait for one."""
        with self._lock:
            found = self._kept.get(key)
            if found is None or found[1] != version or time.monotonic() - found[0] > self.longest:
                made = make()
                found = self._kept[key] = time.monotonic(), version, made
            self._kept.move_to_end(key)
            while len(self._kept) > self.most:
                self._kept.popitem(last=False)
        return found[2]

    def clear(self) -> None:
        """Forget everything."""
        self._kept.clear()


def version_of(study: Study) -> Hashable:
    """Return what changes with a study's votes, verdicts, exclusions and separability."""
    rows = (Rating.objects.all(), VoteChange.objects.all(), Event.objects.all())
    latest = [found.order_by("-pk").values_list("pk", flat=True).first() for found in rows]
    people = Annotator.objects.filter(study=study).aggregate(
        withdrawn=Count("pk", filter=Q(withdrawn_at__isnull=False)),
        excluded=Count("pk", filter=Q(excluded=True)),
    )
    work = Assignment.objects.filter(annotator__study=study, state=Assignment.State.SUBMITTED).count()
    judged = Judgment.objects.filter(run__study=study).order_by()
    answers = judged.values_list("run", "status").annotate(n=Count("pk")).order_by("run", "status")
    runs = study.judge_runs.aggregate(Count("pk"), Max("pk"))  # a jury's run has no judgments
    separability = study.separability_runs.aggregate(at=Max("computed_at"))
    return (*latest, *people.values(), work, tuple(answers), *runs.values(), separability["at"])

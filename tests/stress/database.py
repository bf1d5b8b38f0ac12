"""The database's side of a stress run, in a separate process: fills the database, expires leases, counts rows.

    python -m tests.stress.database

Reads one JSON command a line from standard input and answers each with one line of JSON.
"""

import json
import os
import sys
from collections import Counter
from collections.abc import Callable, Mapping
from datetime import timedelta
from random import Random
from typing import Any

import django

STUDY = "stress"


def fill(*, raters: int, hits: int, pairs: int, raters_per_hit: int, address: str) -> list[str]:
    """Make a study with one batch, and return a sign-in link for each rater."""
    from django.core.management import call_command

    from annotation.batches.sampling import BatchSpec
    from annotation.batches.services import create_batch
    from annotation.importing.study_files import import_study
    from annotation.members.accounts import grant_role, login_link
    from annotation.studies.configurations import configurations

    call_command("migrate", verbosity=0)
    call_command("collectstatic", interactive=False, verbosity=0)
    lines = [
        {
            "instance_id": f"i{number}",
            "dataset": "stress",
            "source": f"Source {number}.",
            "generations": {
                name: [f"Text {place * pairs + k} on {number}." for k in range(pairs)]
                for place, name in enumerate(("alpha", "beta"))
            },
        }
        for number in range(hits)
    ]
    study, _ = import_study(data="\n".join(map(json.dumps, lines)).encode(), name="stress.jsonl", slug=STUDY)
    [configuration] = configurations(study)
    create_batch(spec=BatchSpec(configuration, pairs=pairs, raters=raters_per_hit, seed=1), name="all")
    users = [grant_role(username=f"rater-{number}", role="annotator")[0] for number in range(raters)]
    return [login_link(user=user, base_url=address) for user in users]


def expire(*, share: float, seed: int) -> int:
    """Expire the leases of a random share of the open assignments, at least one where there is one."""
    from django.utils import timezone

    from annotation.models import Assignment

    claimed = list(Assignment.objects.claimed().order_by("pk").values_list("pk", flat=True))
    chosen = Random(seed).sample(claimed, min(len(claimed), max(1, round(share * len(claimed)))))
    past = timezone.now() - timedelta(seconds=1)
    return Assignment.objects.claimed().filter(pk__in=chosen).update(expires_at=past)


def open_slots() -> int:
    """Count the slots that no submitted HIT fills."""
    from annotation.models import Slot

    return Slot.objects.exclude(assignment__state="submitted").count()


def count() -> dict[str, Any]:
    """Count what `violations` checks: ratings by pair, slots, votes."""
    from annotation.models import Assignment, Batch, HitPair, Rating, Slot

    batch = Batch.objects.get()
    counted = Assignment.objects.counted()
    ratings = Rating.objects.filter(stage="first", display__assignment__in=counted)
    per_pair = Counter(ratings.values_list("display__pair_id", flat=True))
    by_whom = Counter(ratings.values_list("display__pair_id", "display__assignment__annotator_id"))
    numbers: dict[int, list[int]] = {}
    for hit_id, number in Slot.objects.values_list("hit_id", "number"):
        numbers.setdefault(hit_id, []).append(number)
    return {
        "ratings_per_pair": dict(
            Counter(per_pair.get(pair, 0) for pair in HitPair.objects.values_list("pair", flat=True))
        ),
        "twice_by_one_rater": sum(times > 1 for times in by_whom.values()),
        "slots_of_hits": sorted({tuple(sorted(own)) for own in numbers.values()}),
        "wanted": batch.raters_per_hit,
        "states": dict(Counter(Assignment.objects.values_list("state", flat=True))),
        "submitted_without_a_slot": Assignment.objects.filter(state="submitted", slot=None, late=False).count(),
        "incomplete": sum(one.displays.exclude(pk__in=ratings.values("display")).exists() for one in counted),
        "votes": {
            f"{assignment} {pair}": [verdict, a_is_left]
            for assignment, pair, verdict, a_is_left in Rating.objects.values_list(
                "display__assignment__key", "display__pair__key", "verdict", "display__a_is_left"
            )
        },
    }


COMMANDS: dict[str, Callable[..., Any]] = {"fill": fill, "expire": expire, "open_slots": open_slots, "count": count}


def main(commands: Mapping[str, Callable[..., Any]] = COMMANDS) -> None:
    """Answer commands until standard input ends."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    django.setup()
    for line in sys.stdin:
        asked = json.loads(line)
        answer = commands[asked.pop("command")](**asked)
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()

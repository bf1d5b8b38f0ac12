"""The processes of `bench.judging`: fill a database, run a judge.

python -m bench._judging_run fill STUDY PAIRS BASE_URL     a study of PAIRS pairs, an endpoint, two equal judges, one that asks eight times
python -m bench._judging_run judge STUDY JUDGE IN_FLIGHT   one run; its times leave out the start of Python

Each prints JSON.
"""

import json
import os
import resource
import sys
import time
from typing import Any

_NUMBERS = "WITH RECURSIVE n(i) AS (SELECT CAST(1 AS BIGINT) UNION ALL SELECT i + 1 FROM n WHERE i < {pairs})"
_SENTENCE = "'A sentence of some length, as it would be written about the matter at hand. '"


def _text(times: int, by: str) -> str:
    return f"'{by} wrote on ' || (i + {{base}}) || ': ' || " + " || ".join([_SENTENCE] * times)


_STEPS = (
    (
        "annotation_instance",
        "id, study_id, instance_id, dataset, source, gold, metadata, position",
        f"i + {{base}}, {{study}}, 'i' || i, 'bench', {_text(10, 'A writer')}, NULL, '{{{{}}}}', i",
    ),
    (
        "annotation_generation",
        'id, instance_id, system_id, text, "index"',
        f"2 * (i + {{base}}), i + {{base}}, {{first}}, {_text(4, 'Heron')}, 0",
    ),
    (
        "annotation_generation",
        'id, instance_id, system_id, text, "index"',
        f"2 * (i + {{base}}) + 1, i + {{base}}, {{second}}, {_text(3, 'Wren')}, 0",
    ),
    (
        "annotation_matchup",
        "id, instance_id, system_a_id, system_b_id",
        "i + {base}, i + {base}, {first}, {second}",
    ),
    (
        "annotation_pair",
        'id, key, matchup_id, "index", generation_a_id, generation_b_id',
        "i + {base}, 'pair-' || (i + {base}), i + {base}, 0, 2 * (i + {base}), 2 * (i + {base}) + 1",
    ),
)


def set_up() -> None:
    """Start Django."""
    import django

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    django.setup()


def fill(study_slug: str, pairs: int, base_url: str) -> None:
    """Make a study, its rows by INSERT … SELECT, and two equal judges."""
    set_up()
    from django.core.management import call_command
    from django.db import connection, transaction
    from django.db.models import Max

    from annotation.models import Instance, Study, System
    from annotation.models.members import main_group
    from judging.models import Endpoint, Judge

    call_command("migrate", verbosity=0)
    study = Study.objects.create(slug=study_slug, title=study_slug, group=main_group())
    first, second = (System.objects.create(study=study, name=name, position=n) for n, name in enumerate(("a", "b")))
    base = Instance.objects.aggregate(last=Max("pk"))["last"] or 0
    values = {"pairs": pairs, "study": study.pk, "first": first.pk, "second": second.pk, "base": base}
    with transaction.atomic(), connection.cursor() as cursor:
        for table, columns, what in _STEPS:
            numbers, made = _NUMBERS.format(**values), what.format(**values)
            cursor.execute(f"INSERT INTO {table} ({columns}) {numbers} SELECT {made} FROM n")
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")  # as autovacuum would have done by now
    prices = {"price_prompt": 1, "price_completion": 2, "cached_discount": 0.1}
    endpoint, _ = Endpoint.objects.update_or_create(
        name="bench", defaults={"base_url": base_url, "model": "small", "timeout_seconds": 60, **prices}
    )
    for name in ("judge", "twin"):
        Judge.objects.get_or_create(name=name, defaults={"method": "direct", "endpoint": endpoint, "seed": 7})
    # Its eight calls about a pair begin with the same source, and four each with the same texts.
    several = {"order": "both", "repeats": 4, "params": {"temperature": 0.7}}
    Judge.objects.get_or_create(
        name="several", defaults={"method": "direct", "endpoint": endpoint, "seed": 7, **several}
    )


def judge(study_slug: str, judge_name: str, in_flight: int) -> None:
    """Run a judge on a study, and print calls, times and memory."""
    set_up()
    from annotation.core.tasks.stopping import StopFlag
    from annotation.models import Study
    from judging.models import Judge
    from judging.runs.execution import execute
    from judging.runs.services import start_run
    from judging.runs.status import count_judgments
    from judging.runs.usage import usage_by_run

    cpu_before, began = time.process_time(), time.perf_counter()
    study, one = Study.objects.get(slug=study_slug), Judge.objects.get(name=judge_name)
    run = start_run(study=study, judge=one, in_flight=in_flight)
    started = time.perf_counter()
    ended = execute(run.pk, stop=StopFlag())
    took: dict[str, Any] = {
        "status": ended.status,
        "cells": ended.progress.total,
        "verdicts": count_judgments(run.judgments.all()).parsed,
        "calls": ended.progress.calls,
        "cost": float(usage_by_run(study)[run.pk].priced),
        "failed": dict(ended.progress.errors),
        "cells_made": started - began,
        "seconds": time.perf_counter() - started,
        "cpu": time.process_time(),
        "cpu_before": cpu_before,
        "megabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }
    print(json.dumps(took))


if __name__ == "__main__":
    what, *rest = sys.argv[1:]
    if what == "fill":
        fill(rest[0], int(rest[1]), rest[2])
    else:
        judge(rest[0], rest[1], int(rest[2]))

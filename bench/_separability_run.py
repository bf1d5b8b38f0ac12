"""One step of `bench.separability_scale`, in its own process so that peak memory can be measured; prints JSON.

python -m bench._separability_run fill N
python -m bench._separability_run compute SIMILARITY [change]
"""

import json
import os
import resource
import sys
from itertools import islice
from random import Random
from time import perf_counter, process_time
from typing import Any

import django

GENERATIONS = 5
WORDS = 60
VOCABULARY = 400  # words that the generations of one instance draw from
PART = 2000  # instances inserted at a time
LETTERS = "abcdefghijklmnopqrstuvwxyz"


def main(step: str, *arguments: str) -> None:
    """Run one step and print its result."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    django.setup()
    found = fill(int(arguments[0])) if step == "fill" else compute(arguments[0], *arguments[1:])
    json.dump(found, sys.stdout)


def fill(count: int) -> dict[str, Any]:
    """Make a database with a study of `count` instances, each with two systems."""
    # Django's apps can be imported only now.
    from django.core.management import call_command
    from django.db import connection

    from annotation.importing.content import store_instances
    from annotation.importing.formats.study_file import InstanceRow
    from annotation.studies.services import ensure_study

    call_command("migrate", verbosity=0)
    study = ensure_study(slug="bench")
    draw = Random(1)
    started = perf_counter()
    numbers = iter(range(count))
    while part := list(islice(numbers, PART)):
        rows = [InstanceRow(n + 1, f"i{n}", "bench", "source", generations(draw)) for n in part]
        store_instances(study=study, rows=rows, name="bench")
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
    return {"seconds": perf_counter() - started}


def generations(draw: Random) -> dict[str, list[str]]:
    """Draw the texts of two systems for one instance; they share its vocabulary."""
    words = ["".join(draw.choices(LETTERS, k=draw.randint(2, 9))) for _ in range(VOCABULARY)]
    return {
        system: [" ".join(draw.choices(words, k=WORDS)) for _ in range(GENERATIONS)] for system in ("alpha", "beta")
    }


def compute(similarity: str, again: str = "0") -> dict[str, Any]:
    """Compute separability, then `again` times after changing one text, all in one process, as a worker does."""
    from annotation.core.errors import AnnotationError
    from annotation.models import Generation, SeparabilityRun, Study

    study = Study.objects.get(slug="bench")
    SeparabilityRun.objects.all().delete()
    try:
        first = timed(study, similarity)
    except AnnotationError as error:  # no model is installed
        return {"error": str(error)}
    runs = []
    for _ in range(int(again)):
        changed = Generation.objects.filter(instance__study=study).order_by("pk")[0]
        Generation.objects.filter(pk=changed.pk).update(text=" ".join(changed.text.split()[::-1][1:]))
        runs.append(timed(study, similarity))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"first": first, "again": runs, "peak_mb": peak}


def timed(study: Any, similarity: str) -> dict[str, Any]:
    """Compute once, timing the service only."""
    from annotation.separability.services import compute_separability

    started, worked = perf_counter(), process_time()
    (result,) = compute_separability(study=study, similarity=similarity)
    return {
        "seconds": perf_counter() - started,
        "processor_seconds": process_time() - worked,
        "computed": result.computed,
    }


if __name__ == "__main__":
    main(*sys.argv[1:])

"""Fills an empty database with a study of many ratings for `bench.analysis` and times its findings; prints JSON.

The last of what is printed is the path of a link by which its researcher signs in.

    python -m bench._findings_study INSTANCES

A separate process, whose memory is its own. Rows are made by INSERT … SELECT: an import of a million would take an hour.
"""

import json
import os
import resource
import sys
import time
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

import django

if TYPE_CHECKING:
    from annotation.models import Study

PAIRS = 5  # of an instance
PEOPLE = 5  # on a HIT
RATERS = 400
SYSTEMS = 12  # each compared with the next one, the last with the first
JUDGES = 2

_NUMBERS = "WITH RECURSIVE n(i) AS (SELECT CAST(0 AS BIGINT) UNION ALL SELECT i + 1 FROM n WHERE i < {rows} - 1)"
_DRAW = "((((i + {salt}) * 1103515245 + 12345) % 2147483648) / 65536)"  # a linear congruential generator, 0 to 32767
_LATER = f"CASE WHEN {_DRAW.format(salt=1)} % 100 < 45 THEN -1 WHEN {_DRAW.format(salt=2)} % 100 < 30 THEN 0 ELSE 1 END"
_FIRST = "CASE WHEN i % {systems} = {systems} - 1 THEN 0 ELSE i % {systems} END + {first_system}"
_SECOND = "CASE WHEN i % {systems} = {systems} - 1 THEN {systems} - 1 ELSE i % {systems} + 1 END + {first_system}"
_TEXT = "'A text as a system would write it about the matter at hand, of some length, number ' || i || '.'"


def main(instances: int) -> None:
    """Make the study, read and compute estimates and then all findings, and print processor seconds and the memory at most."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    django.setup()
    # Django's apps can be imported only now.
    from django.core.management import call_command

    from annotation.members.accounts import grant_role, login_link
    from reporting.findings.computing import compute_estimates, compute_findings
    from reporting.findings.data.inputs import Filters
    from reporting.findings.data.reading import read_study

    call_command("migrate", verbosity=0)
    study = make_study("bench", instances)
    first = replace(Filters(), estimates_only=True)
    times = [time.process_time()]
    data = read_study(study, first)
    times.append(time.process_time())
    compute_estimates(data, first)
    times.append(time.process_time())
    del data
    data = read_study(study, Filters())
    times.append(time.process_time())
    found = compute_findings(data, Filters())
    times.append(time.process_time())
    ratings = sum(one["raters"][0]["ratings"] for one in found["configurations"])
    megabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    call_command("collectstatic", interactive=False, verbosity=0)
    researcher, _ = grant_role(username="researcher", role="researcher", place=study)
    link = login_link(user=researcher, base_url="")
    json.dump([ratings, *(later - earlier for earlier, later in pairwise(times)), megabytes, link], sys.stdout)


def make_study(slug: str, instances: int) -> "Study":
    """Make a study of so many instances, each with 25 ratings and the judgments of two judges, into an empty database."""
    from django.db import connection, transaction

    from annotation.models import Batch, SeparabilityRun, Study, System
    from annotation.models.members import main_group
    from judging.models import Judge, JudgeRun

    study = Study.objects.create(slug=slug, title=slug, group=main_group())
    named = [System(study=study, name=f"system-{number:02}", position=number) for number in range(SYSTEMS)]
    systems = System.objects.bulk_create(named)
    sides = [sorted((number, (number + 1) % SYSTEMS)) for number in range(SYSTEMS)]
    batches = [
        Batch.objects.create(
            study=study, name=f"batch-{number:02}", dataset="bench", system_a=systems[a], system_b=systems[b],
            pairs_per_hit=PAIRS, raters_per_hit=PEOPLE,
        )
        for number, (a, b) in enumerate(sides)
    ]  # fmt: skip
    runs = [
        SeparabilityRun.objects.create(
            study=study, dataset="bench", system_a=systems[a], system_b=systems[b], similarity="rouge1",
            group="configuration", low=0.0, high=1.0, texts_sha256="", short=0, software_version="",
        )
        for a, b in sides
    ]  # fmt: skip
    judges = [
        JudgeRun.objects.create(study=study, judge=Judge.objects.create(name=f"judge-{number}", method="imported"))
        for number in range(JUDGES)
    ]
    values = {
        "study": study.pk, "first_system": systems[0].pk, "systems": SYSTEMS, "instances": instances, "pairs": PAIRS,
        "batch": batches[0].pk, "run": runs[0].pk, "judge": judges[0].pk, "people": PEOPLE, "raters": RATERS,
    }  # fmt: skip
    with transaction.atomic(), connection.cursor() as cursor:
        for table, rows, columns in _steps(instances):
            made = ", ".join(columns.values()).format(**values)
            names = ", ".join(f'"{name}"' for name in columns)
            cursor.execute(f"INSERT INTO {table} ({names}) {_NUMBERS.format(rows=rows)} SELECT {made} FROM n")
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
    return study


def _steps(instances: int) -> list[tuple[str, int, dict[str, str]]]:
    """Return the tables to fill: name, number of rows, and columns as expressions in `i`, which counts from 0."""
    assignments, pairs = instances * PEOPLE, instances * PAIRS
    return [
        ("annotation_instance", instances, {
            "id": "i", "study_id": "{study}", "instance_id": "'instance-' || i", "dataset": "'bench'", "source": _TEXT,
            "metadata": "'{{}}'", "position": "i",
        }),
        *(
            ("annotation_generation", pairs, {
                "id": f"2 * i + {side}", "instance_id": "i / {pairs}", "index": "i % {pairs}", "text": _TEXT,
                "system_id": system.replace("i %", "(i / {pairs}) %"),
            })
            for side, system in enumerate((_FIRST, _SECOND))
        ),
        ("annotation_matchup", instances, {
            "id": "i", "instance_id": "i", "system_a_id": _FIRST, "system_b_id": _SECOND,
        }),
        ("annotation_pair", pairs, {
            "id": "i", "key": "'pair-' || i", "matchup_id": "i / {pairs}", "index": "i % {pairs}",
            "generation_a_id": "2 * i", "generation_b_id": "2 * i + 1",
        }),
        ("annotation_hit", instances, {
            "id": "i", "key": "'hit-' || i", "batch_id": "i % {systems} + {batch}", "matchup_id": "i", "position": "i",
            "external_id": "''",
        }),
        ("annotation_hitpair", pairs, {"hit_id": "i / {pairs}", "pair_id": "i", "position": "i % {pairs}"}),
        ("annotation_annotator", RATERS, {
            "id": "i", "study_id": "{study}", "code": "'rater-' || i", "kind": "'imported'",
            "joined_at": "CURRENT_TIMESTAMP", "excluded": "1 = 0", "exclusion_reason": "''", "block_reason": "''",
        }),
        ("annotation_assignment", assignments, {
            "id": "i", "key": "'assignment-' || i", "hit_id": "i / {people}", "annotator_id": "i % {raters}",
            "state": "'submitted'", "purpose": "'rating'", "attempt": "1", "arm": "''", "seed": "1",
            "late": "1 = 0", "excluded": "1 = 0", "exclusion_reason": "''", "return_comment": "''", "return_reason": "''",
        }),
        ("annotation_slot", assignments, {
            "hit_id": "i / {people}", "batch_id": "(i / {people}) % {systems} + {batch}", "number": "i % {people} + 1",
            "position": "i / {people}", "arm": "''", "assignment_id": "i",
        }),
        ("annotation_display", assignments * PAIRS, {
            "id": "i", "assignment_id": "i / {pairs}", "pair_id": "(i / {pairs} / {people}) * {pairs} + i % {pairs}",
            "position": "i % {pairs}", "a_is_left": f"{_DRAW.format(salt=3)} % 2 = 0",
        }),
        ("annotation_rating", assignments * PAIRS, {
            "id": "i", "display_id": "i", "stage": "'first'", "question": "0", "verdict": _LATER, "reason": "''",
            "arm": "''", "active_seconds": f"10.5 + {_DRAW.format(salt=4)} % 30", "late": "1 = 0",
            "software_version": "''", "tie_kind": "''",
        }),
        ("annotation_alignment", instances, {
            "id": "i", "matchup_id": "i", "run_id": "i % {systems} + {run}", "self_a": "0.6", "self_b": "0.7",
            "cross": f"{_DRAW.format(salt=5)} / 40000.0", "separability": f"0.7 - {_DRAW.format(salt=5)} / 40000.0",
            "digest": "''",
        }),
        *(
            ("judging_judgment", pairs, {
                "run_id": f"{{judge}} + {judge}", "pair_id": "i", "order": "'ab'", "repeat": "0", "negated": "1 = 0",
                "question": "0", "status": "'parsed'", "verdict": _LATER.replace("(i +", f"(i + {7 * judge} +"),
                "rationale": "''", "failure": "''", "calls": "0", "cached": "0", "prompt_version": "''",
                "parser_version": "''",
            })
            for judge in range(JUDGES)
        ),
    ]  # fmt: skip


if __name__ == "__main__":
    main(int(sys.argv[1]))

"""Fills an empty database for `bench.serving`: HITs of one pair each, and raters; prints their invitations.

    python -m bench._serving_study PAIRS RATERS_PER_HIT RATERS ADDRESS

Rows are made by INSERT … SELECT: a million pairs take a minute, an import of them an hour.
"""

import json
import os
import sys

import django

_NUMBERS = "WITH RECURSIVE n(i) AS (SELECT CAST(1 AS BIGINT) UNION ALL SELECT i + 1 FROM n WHERE i < {pairs})"
# 1,000,003 is a prime that divides none of the sizes, so each place in the queue comes once.
_PLACE = "((i * 1000003) % {pairs})"
_TEXT = "'A text of some length, as a system would write it about the matter at hand, number ' || i || '.'"
_STEPS = (
    (
        "annotation_instance",
        "id, study_id, instance_id, dataset, source, gold, metadata, position",
        f"i, {{study}}, 'i' || i, 'bench', {_TEXT}, NULL, '{{{{}}}}', i",
    ),
    ("annotation_generation", 'id, instance_id, system_id, text, "index"', f"i, i, {{first}}, {_TEXT}, 0"),
    ("annotation_generation", 'id, instance_id, system_id, text, "index"', f"i + {{pairs}}, i, {{second}}, {_TEXT}, 0"),
    ("annotation_matchup", "id, instance_id, system_a_id, system_b_id", "i, i, {first}, {second}"),
    (
        "annotation_pair",
        'id, key, matchup_id, "index", generation_a_id, generation_b_id',
        "i, 'pair-' || i, i, 0, i, i + {pairs}",
    ),
    (
        "annotation_hit",
        "id, key, batch_id, matchup_id, position, external_id",
        f"i, 'hit-' || i, {{batch}}, i, {_PLACE}, ''",
    ),
    ("annotation_hitpair", "hit_id, pair_id, position", "i, i, 0"),
)
_SETTLE = {"sqlite": ("PRAGMA wal_checkpoint(TRUNCATE)",), "postgresql": ("VACUUM (ANALYZE)", "CHECKPOINT")}


def main(pairs: int, raters_per_hit: int, raters: int, address: str) -> None:
    """Fill the database and print the links as JSON."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    django.setup()
    # Django's apps can be imported only now.
    from django.core.management import call_command
    from django.db import connection, transaction
    from django.utils import timezone

    from annotation.annotators.consent import answer_consent
    from annotation.models import Batch, Study, System
    from annotation.models.members import main_group
    from annotation.recruitment.channels import invitation_channel
    from annotation.recruitment.invitations import invite

    call_command("migrate", verbosity=0)
    call_command("collectstatic", interactive=False, verbosity=0)
    study = Study.objects.create(slug="bench", title="bench", group=main_group())
    first, second = (System.objects.create(study=study, name=name, position=n) for n, name in enumerate(("a", "b")))
    batch = Batch.objects.create(
        study=study, name="all", dataset="bench", system_a=first, system_b=second,
        pairs_per_hit=1, raters_per_hit=raters_per_hit,
    )  # fmt: skip
    values = {"pairs": pairs, "study": study.pk, "first": first.pk, "second": second.pk, "batch": batch.pk}
    slots = (
        ("annotation_slot", "hit_id, batch_id, position, arm, number", f"i, {{batch}}, {_PLACE}, '', {number}")
        for number in range(1, raters_per_hit + 1)
    )
    with transaction.atomic(), connection.cursor() as cursor:
        for table, columns, what in (*_STEPS, *slots):
            numbers, made = _NUMBERS.format(**values), what.format(**values)
            cursor.execute(f"INSERT INTO {table} ({columns}) {numbers} SELECT {made} FROM n")
    with connection.cursor() as cursor:
        # Flush the bulk insert, as a running database would have done: else each commit carries a gigabyte of changes.
        # SQLite's statistics are refreshed by the next connection (annotation/core/database/sqlite_statistics.py).
        for step in _SETTLE[connection.vendor]:
            cursor.execute(step)
    links = invite(channel=invitation_channel(study=study), count=raters, base_url=address, at=timezone.now())
    for annotator in study.annotators.all():
        answer_consent(annotator=annotator, accepted=True, at=study.created_at)
    json.dump([link.link for link in links], sys.stdout)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), sys.argv[4])

"""Fills an empty database for `bench.rating`: a study, enough HITs, raters; prints their invitations.

    python -m bench._rating_study RATERS ADDRESS [RATERS_PER_HIT]

A separate process, because Django reads DATABASE_URL once and the benchmark uses two databases.
"""

import json
import os
import sys
from random import Random
from typing import TYPE_CHECKING

import django

if TYPE_CHECKING:
    from annotation.models import Study

PAIRS = 5
INSTANCES = 250
RATERS_PER_HIT = 4
SOURCE_WORDS, TEXT_WORDS = 500, 100  # about 3,000 and 600 characters
WORDS = ["they", "take", "early", "boats", "and", "walk", "along", "quiet", "shores", "until", "rain", "comes"]


def main(raters: int, address: str, raters_per_hit: int = RATERS_PER_HIT) -> None:
    """Fill the database and print the links as JSON."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    django.setup()
    # Django's apps can be imported only now.
    from django.core.management import call_command
    from django.db import connection
    from django.utils import timezone

    from annotation.recruitment.channels import invitation_channel
    from annotation.recruitment.invitations import invite

    call_command("migrate", verbosity=0)
    call_command("collectstatic", interactive=False, verbosity=0)
    study = make_study(raters_per_hit)
    links = invite(channel=invitation_channel(study=study), count=raters, base_url=address, at=timezone.now())
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")  # as autovacuum would have done by now
    json.dump([link.link for link in links], sys.stdout)


def make_study(raters_per_hit: int) -> "Study":
    """Make and return a study of two systems, whose HITs hold a source and five pairs of texts of realistic length."""
    from annotation.batches.sampling import BatchSpec
    from annotation.batches.services import create_batch
    from annotation.importing.study_files import import_study
    from annotation.studies.configurations import configurations

    draw = Random(1)
    lines = [
        json.dumps(
            {
                "instance_id": f"i{number}",
                "dataset": "bench",
                "source": words(draw, SOURCE_WORDS),
                "generations": {
                    system: [words(draw, TEXT_WORDS) for _ in range(PAIRS)] for system in ("alpha", "beta")
                },
            }
        )
        for number in range(INSTANCES)
    ]
    study, _ = import_study(data="\n".join(lines).encode(), name="bench.jsonl", slug="bench")
    [configuration] = configurations(study)
    create_batch(spec=BatchSpec(configuration, pairs=PAIRS, raters=raters_per_hit, seed=1), name="all")
    return study


def words(draw: Random, count: int) -> str:
    """Draw a text of `count` words."""
    return " ".join(draw.choices(WORDS, k=count))


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2], *map(int, sys.argv[3:]))

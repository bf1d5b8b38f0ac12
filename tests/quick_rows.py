"""Rows that `factories` stores without the services, in a third of their time; test_quick_rows.py compares the two."""

import secrets
from collections.abc import Sequence
from datetime import datetime
from itertools import combinations
from typing import Any

import numpy as np
from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone

from annotation.batches.sampling import BatchSpec, HitPlan, SelectionSpec, own_settings, validate_spec
from annotation.batches.services import add_hits
from annotation.core.database.aggregates import grouped
from annotation.importing.formats.study_file import InstanceRow
from annotation.models import (
    Annotator,
    Batch,
    Consent,
    Event,
    Generation,
    Instance,
    Matchup,
    Pair,
    RoleGrant,
    Study,
    System,
)
from annotation.models.members import Role
from annotation.studies.configurations import Configuration
from annotation.studies.log import log

_SETTINGS = {"gold_rate", "repeat_rate", "lease_minutes", "most_hits_per_rater"}


@transaction.atomic
def store_new_instances(study: Study, rows: Sequence[InstanceRow]) -> None:
    """Store what `store_instances` would in a study that has none: rows with the same systems, equally often, in order."""
    systems = System.objects.bulk_create(
        System(study=study, name=name, position=position) for position, name in enumerate(rows[0].generations)
    )
    instances = Instance.objects.bulk_create(
        Instance(study=study, instance_id=row.instance_id, dataset=row.dataset, source=row.source, position=position)
        for position, row in enumerate(rows)
    )
    generations = grouped(
        ((one.instance_id, one.system_id), one)
        for one in Generation.objects.bulk_create(
            Generation(instance=instance, system=system, index=index, text=text)
            for row, instance in zip(rows, instances, strict=True)
            for system in systems
            for index, text in enumerate(row.generations[system.name])
        )
    )
    matchups = Matchup.objects.bulk_create(
        Matchup(instance=instance, system_a=a, system_b=b)
        for instance in instances
        for a, b in combinations(systems, 2)
    )
    Pair.objects.bulk_create(
        Pair(matchup=matchup, index=index, generation_a=a, generation_b=b)
        for matchup in matchups
        for index, (a, b) in enumerate(
            zip(
                generations[matchup.instance_id, matchup.system_a_id],
                generations[matchup.instance_id, matchup.system_b_id],
                strict=True,
            )
        )
    )


@transaction.atomic
def store_plain_batch(
    *,
    study: Study,
    name: str,
    dataset: str,
    systems: tuple[str, str],
    pairs: int,
    raters: int,
    seed: int,
    **settings: Any,
) -> Batch | None:
    """Store what `create_batch` would: an open batch for rating, of all instances, which is its study's first.

    Returns None, with nothing stored, for any other one, and for one that the service may refuse.
    """
    study = Study.objects.get(pk=study.pk)
    found = {system.name: system for system in study.systems.all() if system.name in systems}
    special = settings.keys() - _SETTINGS or study.is_two_stage or study.archived_at or not 1 <= len(name) <= 200
    if special or len(found) != 2 or study.batches.exists():
        return None
    a, b = found.values()
    matchups = Matchup.objects.filter(instance__study=study, instance__dataset=dataset, system_a=a, system_b=b)
    columns = ("pk", "pairs__pk", "instance__source")
    rows = list(matchups.order_by("instance__position", "pairs__index").values_list(*columns))
    pool = grouped((matchup, pair) for matchup, pair, _ in rows)
    if (
        not rows
        or not all(source for _, _, source in rows)
        or any(None in own or len(own) < pairs for own in pool.values())
    ):
        return None
    spec = BatchSpec(Configuration(study, dataset, a, b), pairs, raters, seed, **settings)
    validate_spec(spec)
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(pool)).tolist()
    plans = [
        HitPlan(matchup, place, None, [own[one] for one in sorted(rng.choice(len(own), size=pairs, replace=False))])
        for (matchup, own), place in zip(pool.items(), order, strict=True)
    ]
    batch = Batch.objects.create(
        study=study,
        name=name,
        dataset=dataset,
        system_a=a,
        system_b=b,
        pairs_per_hit=pairs,
        raters_per_hit=raters,
        seed=seed,
        selection={
            "asked": SelectionSpec().as_json,
            "spec": "all",
            "similarity": None,
            "separability": None,
            "pool": len(pool),
            "left_out": {},
        },
        launched_at=timezone.now(),
        **own_settings(spec),
    )
    add_hits(batch=batch, plans=plans)
    log(study=study, kind=Event.Kind.LAUNCHED, batch=batch, at=batch.launched_at)
    return batch


def store_new_annotator(*, user: User, study: Study, consent_at: datetime | None) -> Annotator:
    """Store what `annotator_for` and `answer_consent` would for an account that has nothing yet."""
    RoleGrant.objects.create(user=user, role=Role.ANNOTATOR, study=study)
    code = f"r-{secrets.token_hex(4)}"
    annotator = Annotator.objects.create(study=study, user=user, kind=Annotator.Kind.ACCOUNT, code=code)
    if consent_at is not None:
        asked = {"version": study.consent_version, "text": study.consent_text}
        Consent.objects.create(annotator=annotator, accepted=True, answered_at=consent_at, **asked)
    return annotator

"""Migrate an empty database from release to release, with rows stored at each, and print what differs at the end.

    python -m tests.upgrades.upgrade

DATABASE_URL names the database. It is a process of its own, as data migrations write through the default connection.
"""

import json
import os
import re
import sys
from typing import Any

import django
from django.apps import apps
from django.apps.registry import Apps
from django.core.checks import run_checks
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from annotation.core.system_checks import unapplied_migrations
from tests.upgrades.releases import RELEASES

SCHEMA = {
    "sqlite": "SELECT sql FROM sqlite_master WHERE sql IS NOT NULL",
    "postgresql": "SELECT conname FROM pg_constraint UNION SELECT indexname FROM pg_indexes",
}
Rows = dict[tuple[str, int], dict[str, Any]]


def store_rows(old_apps: Apps, name: str) -> None:
    """Store a study with one vote by a person and one judgment on the same pair."""

    def add(label: str, **values: Any) -> Any:
        return old_apps.get_model(label).objects.create(**values)

    group = old_apps.get_model("annotation.ResearchGroup").objects.get(slug="main")
    study = add("annotation.Study", slug=name, title=name, group=group)
    systems = [add("annotation.System", study=study, name=f"system {place}", position=place) for place in (0, 1)]
    instance = add("annotation.Instance", study=study, instance_id="i1", dataset="news", source="Ä <b>", position=0)
    texts = [add("annotation.Generation", instance=instance, system=one, index=0, text="é") for one in systems]
    matchup = add("annotation.Matchup", instance=instance, system_a=systems[0], system_b=systems[1])
    pair = add("annotation.Pair", matchup=matchup, index=0, generation_a=texts[0], generation_b=texts[1])
    batch = add(
        "annotation.Batch",
        study=study,
        name="batch",
        dataset="news",
        system_a=systems[0],
        system_b=systems[1],
        pairs_per_hit=1,
        raters_per_hit=1,
    )
    hit = add("annotation.Hit", batch=batch, matchup=matchup, position=0)
    add("annotation.HitPair", hit=hit, pair=pair, position=0)
    annotator = add("annotation.Annotator", study=study, code="rater", kind="person")
    assignment = add("annotation.Assignment", annotator=annotator, hit=hit)
    add("annotation.Slot", hit=hit, batch=batch, position=0, number=0, assignment=assignment)
    display = add("annotation.Display", assignment=assignment, pair=pair, position=0, a_is_left=True)
    add("annotation.Rating", display=display, verdict=-1)
    endpoint = add("judging.Endpoint", name=name, base_url="https://llm.example.org/v1", model="m")
    judge = add("judging.Judge", name=name, method="direct", endpoint=endpoint)
    run = add("judging.JudgeRun", judge=judge, study=study, batch=batch)
    add("judging.Judgment", run=run, pair=pair, order="ab", status="parsed", verdict=1)
    add("judging.Completion", cache_key=name, base_url="https://llm.example.org/v1", request={"n": 1}, text="B")


def stored(old_apps: Apps) -> Rows:
    """Return the values of each row of both apps, by column."""
    return {
        (model._meta.label, row["pk"]): row
        for app in ("annotation", "judging", "reporting")
        for model in old_apps.get_app_config(app).get_models()
        for row in model._default_manager.values("pk", *(field.attname for field in model._meta.concrete_fields))
    }


def differences(before: Rows, after: Rows) -> list[str]:
    """Name each row that is gone, and each column of it whose value is not what it was."""
    gone = [f"{key} is gone" for key in before.keys() - after.keys()]
    changed = [
        f"{key}.{column}: {value!r} became {after[key].get(column)!r}"
        for key, row in before.items()
        if key in after
        for column, value in row.items()
        if after[key].get(column) != value
    ]
    return sorted(gone + changed)


def lost_constraints() -> list[str]:
    """Name the constraints and indexes of the models that the database has not."""
    with connection.cursor() as cursor:
        cursor.execute(SCHEMA[connection.vendor])
        there = {name for (text,) in cursor for name in re.findall(r"\w+", text)}
    named = [one.name for model in apps.get_models() for one in (*model._meta.constraints, *model._meta.indexes)]
    return sorted(set(named) - there)


def main() -> None:
    """Print the number of rows stored, differences, lost constraints, missing migrations and failed checks as JSON."""
    before: Rows = {}
    for name, leaves in RELEASES.items():
        executor = MigrationExecutor(connection)
        executor.migrate(list(leaves.items()))
        old_apps = executor.loader.project_state(list(leaves.items())).apps
        store_rows(old_apps, name.replace(" ", "-"))
        before = stored(old_apps) | before  # an older row keeps the values of its own release
    executor = MigrationExecutor(connection)
    executor.migrate(executor.loader.graph.leaf_nodes())
    told = {
        "rows": len(before),
        "differences": differences(before, stored(executor.loader.project_state().apps)),
        "lost": lost_constraints(),
        "missing": unapplied_migrations(),
        "failed": [str(one) for one in run_checks(databases=["default"]) if one.is_serious()],
    }
    sys.stdout.write(json.dumps(told))


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    django.setup()
    main()

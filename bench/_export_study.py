"""Fills an empty database with a study of many ratings for `bench.export` and times what leaves it; prints JSON.

    python -m bench._export_study INSTANCES FOLDER [bundle]

A separate process, whose memory is its own.
"""

import json
import os
import resource
import sys
from collections.abc import Callable
from pathlib import Path

import django

from bench._findings_study import make_study

FORMS = ("csv", "jsonl", "parquet")


def main(instances: int, folder: Path, *, with_bundle: bool) -> None:
    """Make the study; print, for each way out, processor seconds, the growth of memory in MB, and bytes."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    django.setup()
    from django.core.management import call_command
    from django.db import connection

    from reporting.bundle.exporting import export_bundle
    from reporting.bundle.verifying import verify_bundle
    from reporting.exports.files import write_export

    call_command("migrate", verbosity=0)
    study = make_study("bench", instances)
    found: dict[str, list[float]] = {}

    def bare() -> None:
        """Write the rows' columns as the database has them, joined as an export needs them."""
        with (folder / "bare").open("w") as file, connection.cursor() as cursor:
            cursor.execute(_BARE)
            while rows := cursor.fetchmany(2000):
                file.writelines(",".join(map(str, row)) + "\n" for row in rows)

    def timed(name: str, act: Callable[[], object], path: Path) -> None:
        before, start = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, sum(os.times()[:4])
        act()
        seconds = sum(os.times()[:4]) - start  # with that of the process that verifies a bundle, and then its memory
        grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
        if name.endswith("bundle"):
            grown = max(grown, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024)
        files = [path] if path.is_file() else [one for one in path.rglob("*") if one.is_file()]
        found[name] = [seconds, grown, sum(one.stat().st_size for one in files)]

    for form in FORMS:  # pyarrow alone takes 90 MB when it is loaded
        write_export(folder / f"warm.{form}", study, "raters", form)
    timed("bare rows", bare, folder / "bare")
    for form in FORMS:
        path = folder / f"ratings.{form}"
        timed(form, lambda path=path, form=form: write_export(path, study, "ratings", form), path)  # type: ignore[misc]
    if with_bundle:
        bundle = folder / "bundle"
        timed("export_bundle", lambda: export_bundle(study, bundle), bundle)
        timed("verify_bundle", lambda: verify_bundle(bundle), bundle)
    json.dump(found, sys.stdout)


_BARE = """
SELECT r.id, r.verdict, r.stage, r.arm, r.reason, r.active_seconds, r.wall_seconds, r.rated_at, r.late, r.software_version,
       d.a_is_left, d.position, a.state, a.purpose, a.late, a.excluded, a.exclusion_reason, n.code, n.excluded,
       h.external_id, h.key, b.name, p."index", ga."index", gb."index", i.instance_id, i.dataset, sa.name, sb.name, s.id
FROM annotation_rating r
JOIN annotation_display d ON d.id = r.display_id
JOIN annotation_assignment a ON a.id = d.assignment_id
JOIN annotation_annotator n ON n.id = a.annotator_id
JOIN annotation_hit h ON h.id = a.hit_id
JOIN annotation_batch b ON b.id = h.batch_id
JOIN annotation_pair p ON p.id = d.pair_id
JOIN annotation_generation ga ON ga.id = p.generation_a_id
JOIN annotation_generation gb ON gb.id = p.generation_b_id
JOIN annotation_matchup m ON m.id = p.matchup_id
JOIN annotation_instance i ON i.id = m.instance_id
JOIN annotation_system sa ON sa.id = m.system_a_id
JOIN annotation_system sb ON sb.id = m.system_b_id
LEFT JOIN annotation_slot s ON s.assignment_id = a.id
ORDER BY d.assignment_id, d.position, r.stage, r.question
"""

if __name__ == "__main__":
    main(int(sys.argv[1]), Path(sys.argv[2]), with_bundle="bundle" in sys.argv[3:])

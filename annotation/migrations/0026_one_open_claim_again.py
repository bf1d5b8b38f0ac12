"""Give PostgreSQL back the constraint that 0009 took from it.

With the index of a foreign key Django drops every index on that column alone, so also the partial unique one behind this
constraint. A new database has it.
"""

from django.db import migrations
from django.db.models import Count

NAME = "one_open_claim_per_annotator"


def restore(apps, schema_editor):
    assignment = apps.get_model("annotation", "Assignment")
    claims = assignment.objects.filter(state="claimed").order_by().values_list("annotator")
    several = claims.annotate(n=Count("pk")).filter(n__gt=1)
    held = several.values_list("annotator__code", "annotator__study__slug")
    if held:
        named = ", ".join(f"{code} of {study}" for code, study in held)
        raise RuntimeError(
            f"These annotators hold more than one HIT: {named}. Release all but one of each on the pages of "
            "the batches, with the version that you come from, and migrate again."
        )
    schema_editor.execute(
        f"CREATE UNIQUE INDEX IF NOT EXISTS {NAME} ON annotation_assignment (annotator_id) WHERE state = 'claimed'"
    )


class Migration(migrations.Migration):
    dependencies = [("annotation", "0025_mail")]

    operations = [migrations.RunPython(restore, migrations.RunPython.noop, elidable=True)]

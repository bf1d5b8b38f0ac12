from django.db import migrations
from django.db.models import F, OuterRef, Subquery


def fill(apps, schema_editor):
    """Put every study and every role in all studies into one group, and tell each slot its HIT's batch and place."""
    group_model = apps.get_model("annotation", "ResearchGroup")
    study, grant = apps.get_model("annotation", "Study"), apps.get_model("annotation", "RoleGrant")
    group, _ = group_model.objects.get_or_create(slug="main", defaults={"name": "Main group"})
    study.objects.filter(group=None).update(group=group)
    grant.objects.filter(study=None, group=None).update(group=group)
    slot, hit = apps.get_model("annotation", "Slot"), apps.get_model("annotation", "Hit")
    own = hit.objects.filter(pk=OuterRef("hit_id"))
    slot.objects.filter(batch=None).update(
        batch_id=Subquery(own.values("batch_id")[:1]), position=Subquery(own.values("position")[:1])
    )
    batch = apps.get_model("annotation", "Batch")
    batch.objects.filter(launched_at=None, origin="collected").update(launched_at=F("created_at"))


def empty(apps, schema_editor):
    """Make grants in the group grants in all studies again."""
    apps.get_model("annotation", "RoleGrant").objects.exclude(group=None).update(group=None)


class Migration(migrations.Migration):
    dependencies = [("annotation", "0003_groups_channels_and_log")]

    operations = [migrations.RunPython(fill, empty)]

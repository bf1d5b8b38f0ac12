from django.db import migrations, models

from annotation.models.recruitment import channel_kinds


class Migration(migrations.Migration):
    dependencies = [("annotation", "0013_tasks_are_queued_under_their_rooms")]
    operations = [
        migrations.AlterField("channel", "kind", models.CharField(choices=channel_kinds, max_length=12)),
    ]

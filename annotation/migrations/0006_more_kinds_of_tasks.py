from django.db import migrations, models

KINDS = [
    ("summarization", "Summarisation"),
    ("summarization-concise", "Concise summarisation"),
    ("dialogue", "Dialogue"),
    ("harmless", "Harmlessness"),
    ("ranking", "Ranking of documents"),
    ("translation", "Translation"),
    ("instruction", "Following instructions"),
    ("chat", "Chat"),
    ("ordering", "Order of events"),
    ("free", "Other (the study's own question)"),
]


class Migration(migrations.Migration):
    dependencies = [("annotation", "0005_groups_and_slots_are_complete")]

    operations = [
        migrations.AlterField(
            model_name="study",
            name="task_kind",
            field=models.CharField(choices=KINDS, default="summarization", max_length=40),
        ),
    ]

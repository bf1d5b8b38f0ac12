import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("reporting", "0004_system_rankings"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="SentRequest",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("key", models.CharField(max_length=100)),
                ("digest", models.CharField(help_text="SHA-256 of the request.", max_length=64)),
                ("status", models.PositiveSmallIntegerField(default=200)),
                ("location", models.CharField(blank=True, max_length=200)),
                ("answer", models.TextField(blank=True, help_text="JSON; null: not kept.", null=True)),
                ("sent_at", models.DateTimeField(db_index=True)),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to=settings.AUTH_USER_MODEL
                    ),
                ),
            ],
            options={
                "constraints": [models.UniqueConstraint(fields=("user", "key"), name="sent_request_once_per_key")],
            },
        ),
    ]

import django.utils.timezone
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("annotation", "0007_separability_by_measure")]

    operations = [
        migrations.CreateModel(
            name="TextVector",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "model",
                    models.CharField(help_text="Fingerprint: SHA-256 of weights and settings.", max_length=64),
                ),
                ("text_sha256", models.CharField(max_length=64)),
                ("vector", models.BinaryField(help_text="Little-endian float32.")),
                ("made_at", models.DateTimeField(default=django.utils.timezone.now)),
            ],
            options={
                "ordering": ["pk"],
                "constraints": [
                    models.UniqueConstraint(fields=("model", "text_sha256"), name="text_vector_once_per_model")
                ],
            },
        ),
    ]

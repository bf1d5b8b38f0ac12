from django.db import migrations, models


class Migration(migrations.Migration):
    """Empty for the choices that are there: their pages did not report it."""

    dependencies = [
        ("annotation", "0016_auto_advance"),
    ]

    operations = [
        migrations.AddField(
            model_name="votechange",
            name="source_opened",
            field=models.BooleanField(
                blank=True,
                help_text="Whether the source was open at any time before; empty where not reported.",
                null=True,
            ),
        ),
    ]

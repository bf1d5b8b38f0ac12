from django.db import migrations, models


class Migration(migrations.Migration):
    """Empty for the choices that are there: their pages did not report it."""

    dependencies = [
        ("annotation", "0028_order_shown_may_be_unknown"),
    ]

    operations = [
        migrations.AddField(
            model_name="rating",
            name="translated",
            field=models.BooleanField(
                blank=True,
                help_text="Whether the browser had translated the page; empty where not reported.",
                null=True,
            ),
        ),
    ]

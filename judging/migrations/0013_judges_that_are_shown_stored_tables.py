from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("judging", "0012_judges_whose_texts_come_first")]

    operations = [
        migrations.AddField(
            "judge",
            "table_variant",
            models.CharField(
                blank=True,
                db_default="",
                default="",
                max_length=40,
                help_text="SC²: variant of the study's stored tables that it is shown; empty: it makes its own.",
            ),
        ),
    ]

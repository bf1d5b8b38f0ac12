from django.db import migrations, models

SENT = "Sent before each call, as the system's message."


class Migration(migrations.Migration):
    dependencies = [("judging", "0014_judges_tuned_to_people")]

    operations = [
        migrations.AddField(
            "judge", "system_prompt", models.TextField(blank=True, db_default="", default="", help_text=SENT)
        ),
        migrations.AddField(
            "promptfile",
            "system_prompt",
            models.TextField(
                blank=True, db_default="", default="", help_text="Sent before the text, as the system's message."
            ),
        ),
        migrations.AddField(
            "promptfile",
            "form",
            models.CharField(
                blank=True,
                db_default="",
                default="",
                max_length=20,
                help_text="Published form in which it was brought; empty: our own.",
            ),
        ),
    ]

from django.db import migrations, models

HELP = "A choice on a pair leads to the next pair; raters can switch it off for themselves."


class Migration(migrations.Migration):
    """On for new studies, off for those that are there: no rating page changes under its raters' hands."""

    dependencies = [
        ("annotation", "0015_plainer_field_help"),
    ]

    operations = [
        migrations.AddField(
            model_name="study",
            name="auto_advance",
            field=models.BooleanField(default=False, help_text=HELP),
        ),
        migrations.AlterField(
            model_name="study",
            name="auto_advance",
            field=models.BooleanField(default=True, help_text=HELP),
        ),
    ]

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("annotation", "0031_mails_without_text"),
    ]

    operations = [
        migrations.AddField(
            model_name="study",
            name="merging",
            field=models.BooleanField(
                db_default=False,
                default=False,
                editable=False,
                help_text="Rows of an import move to it: it cannot be read.",
            ),
        ),
    ]

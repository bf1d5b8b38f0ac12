from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("judging", "0020_marks_without_an_account")]

    operations = [
        migrations.AddField(
            model_name="judgment",
            name="token_mass",
            field=models.FloatField(
                blank=True,
                help_text=(
                    "Part of the answer token's probability on the letters or scores on offer, where the endpoint gives it."
                ),
                null=True,
            ),
        ),
    ]

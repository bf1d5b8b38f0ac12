from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("annotation", "0017_source_opened"),
    ]

    operations = [
        migrations.AddField(
            model_name="study",
            name="render_math",
            field=models.BooleanField(
                default=False, help_text="Show LaTeX in sources and generations as formulas; else it is shown as typed."
            ),
        ),
    ]

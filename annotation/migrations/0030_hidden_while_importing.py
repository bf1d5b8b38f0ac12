from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("annotation", "0029_translated_pages"),
    ]

    operations = [
        migrations.AddField(
            model_name="study",
            name="importer",
            field=models.CharField(
                blank=True,
                db_default="",
                default="",
                editable=False,
                help_text="The process that imports into it; it is hidden until all rows are stored.",
                max_length=80,
            ),
        ),
    ]

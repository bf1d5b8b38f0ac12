from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("annotation", "0019_questions"),
    ]

    operations = [
        migrations.RemoveIndex(model_name="assignment", name="assignment_of_annotator"),
        migrations.AddIndex(
            model_name="assignment",
            index=models.Index(
                fields=["annotator", "state", "purpose", "arm", "excluded"], name="assignment_of_annotator"
            ),
        ),
    ]

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [
        ("judging", "0018_process_that_bears_a_cost"),
    ]

    operations = [
        migrations.AlterModelOptions(
            name="providerbatch",
            options={"ordering": ["run", "created_at"], "verbose_name_plural": "provider batches"},
        ),
    ]

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [
        ("annotation", "0026_one_open_claim_again"),
    ]

    operations = [
        migrations.AlterModelOptions(
            name="auditentry",
            options={"ordering": ["pk"], "verbose_name_plural": "audit entries"},
        ),
        migrations.AlterModelOptions(
            name="hit",
            options={"ordering": ["batch", "position"], "verbose_name": "HIT"},
        ),
        migrations.AlterModelOptions(
            name="hitpair",
            options={"ordering": ["hit", "position"], "verbose_name": "HIT pair"},
        ),
    ]

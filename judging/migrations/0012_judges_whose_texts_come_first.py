from typing import Any, ClassVar

from django.db import migrations, models


class Migration(migrations.Migration):
    """Add the layout of a judge's prompts."""

    dependencies: ClassVar[list[tuple[str, str]]] = [("judging", "0011_audits_of_judges")]

    operations: ClassVar[list[Any]] = [
        migrations.AddField("judge", "texts_first", models.BooleanField(default=False, db_default=False)),
        migrations.AlterField(
            "judge",
            "texts_first",
            models.BooleanField(
                default=True,
                db_default=False,
                help_text="Calls begin with the texts, under a fence of the instance; off for older judges.",
            ),
        ),
    ]

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("annotation", "0004_one_group_for_what_is_there"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AlterField(
            model_name="slot",
            name="batch",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE, related_name="slots", to="annotation.batch"
            ),
        ),
        migrations.AlterField(
            model_name="slot",
            name="position",
            field=models.PositiveIntegerField(help_text="The HIT's place in the queue."),
        ),
        migrations.AlterField(
            model_name="study",
            name="group",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT, related_name="studies", to="annotation.researchgroup"
            ),
        ),
        migrations.AddConstraint(
            model_name="rolegrant",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("group__isnull", False), ("study", None)),
                    models.Q(("group", None), ("study__isnull", False)),
                    _connector="OR",
                ),
                name="role_in_a_study_or_in_a_group",
            ),
        ),
    ]

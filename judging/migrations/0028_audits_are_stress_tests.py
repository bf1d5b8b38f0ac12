from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("judging", "0027_delete_checks_of_drift")]

    operations = [
        migrations.RemoveConstraint(model_name="judgeaudit", name="judge_audit_once_per_settings"),
        migrations.RemoveField(model_name="judgeaudit", name="kind"),
        migrations.RemoveField(model_name="judgeaudit", name="wave"),
        migrations.RemoveField(model_name="judgeaudit", name="found"),
        migrations.AddConstraint(
            model_name="judgeaudit",
            constraint=models.UniqueConstraint(
                fields=["study", "judge", "settings_key"], name="judge_audit_once_per_settings"
            ),
        ),
    ]

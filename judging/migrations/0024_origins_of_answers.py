from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("judging", "0023_sizes_of_batches")]

    operations = [
        migrations.AlterField(
            model_name="completion",
            name="cost",
            field=models.DecimalField(
                decimal_places=8,
                help_text="As the endpoint reported it in its currency, else at the prices of that day.",
                max_digits=14,
                null=True,
            ),
        ),
        migrations.AddField(
            model_name="completion",
            name="list_price",
            field=models.DecimalField(
                decimal_places=8,
                help_text="At the prices of that day, where the endpoint reported a cost itself.",
                max_digits=14,
                null=True,
            ),
        ),
        migrations.AddField(
            model_name="completion",
            name="expected_prompt_tokens",
            field=models.PositiveIntegerField(
                help_text="Estimated from the prompt's characters, on the low side.", null=True
            ),
        ),
        migrations.AddField(
            model_name="completion",
            name="served_model",
            field=models.CharField(
                blank=True, db_default="", default="", help_text="Model that answered, by the response.", max_length=200
            ),
        ),
        migrations.AddField(
            model_name="completion",
            name="fingerprint",
            field=models.CharField(
                blank=True, db_default="", default="", help_text="Build of the model, by the response.", max_length=200
            ),
        ),
        migrations.AddField(
            model_name="completion",
            name="provider",
            field=models.CharField(
                blank=True,
                db_default="",
                default="",
                help_text="Provider that a router chose, by the response.",
                max_length=200,
            ),
        ),
    ]

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("reporting", "0010_no_files_of_noise")]

    operations = [migrations.DeleteModel(name="SystemRanking")]

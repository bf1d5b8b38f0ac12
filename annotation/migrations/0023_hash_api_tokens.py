"""Store the hashes of the tokens of version 0.2 in place of their keys; they stay valid, with the same rights."""

import hashlib

from django.db import migrations

READ_ONLY, ALL = "read-", ["read", "manage", "configure", "personal"]


def hash_tokens(apps, schema_editor):
    old, new = apps.get_model("authtoken", "Token"), apps.get_model("annotation", "ApiToken")
    for token in old.objects.all():
        new.objects.create(
            user_id=token.user_id,
            name="from version 0.2",
            digest=hashlib.sha256(token.key.encode()).hexdigest(),
            scopes=["read"] if token.key.startswith(READ_ONLY) else ALL,
            created_at=token.created,
        )
    old.objects.all().delete()


class Migration(migrations.Migration):
    dependencies = [("annotation", "0022_api_tokens"), ("authtoken", "0001_initial")]

    # A key can't be had of its hash: backwards, the tokens end.
    operations = [migrations.RunPython(hash_tokens, migrations.RunPython.noop, elidable=True)]

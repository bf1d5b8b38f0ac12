from django.db import migrations

CHUNK = 500
CHARACTERS, DENSE_CHARACTERS = 4.0, 2.0  # of a token
ORIGIN = {"served_model": "model", "fingerprint": "system_fingerprint", "provider": "provider"}


def fill_in(apps, schema_editor):
    """Copy who answered from each response, and estimate the tokens of each prompt."""
    completions = apps.get_model("judging", "Completion").objects.using(schema_editor.connection.alias)
    rows, last = completions.exclude(request={}).order_by("pk").only("request", "response"), 0
    while chunk := list(rows.filter(pk__gt=last)[:CHUNK]):
        for row in chunk:
            row.expected_prompt_tokens = expected_tokens(row.request)
            for field, name in ORIGIN.items():
                value = row.response.get(name) if isinstance(row.response, dict) else None
                setattr(row, field, value.strip()[:200] if isinstance(value, str) else "")
        completions.bulk_update(chunk, ["expected_prompt_tokens", *ORIGIN])
        last = chunk[-1].pk


def expected_tokens(request):
    """Estimate the tokens of a prompt as new answers do; `None` for a request without messages."""
    messages = request.get("messages") if isinstance(request, dict) else None
    if not messages:
        return None
    words = " ".join(" ".join(str(message.get("content") or "") for message in messages).split())
    dense = 0 if words.isascii() else sum(is_dense(character) for character in words)
    return round((len(words) - dense) / CHARACTERS + dense / DENSE_CHARACTERS)


def is_dense(character):
    """Tell whether a character is Chinese, Japanese or Korean."""
    return any(low <= ord(character) <= high for low, high in DENSE)


DENSE = ((0x2E80, 0x9FFF), (0xAC00, 0xD7AF), (0xF900, 0xFAFF), (0x20000, 0x3FFFF))


class Migration(migrations.Migration):
    dependencies = [("judging", "0024_origins_of_answers")]

    operations = [migrations.RunPython(fill_in, migrations.RunPython.noop)]

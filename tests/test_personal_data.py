"""The list of what is held about people: every field of every table is in it, and the page that shows it is true."""

from collections import Counter
from pathlib import Path

import pytest
from django.apps import apps

from annotation.privacy import personal_data
from annotation.privacy.personal_data import Entry, classified
from judging.core import personal_data as of_judging
from reporting.core import personal_data as of_reporting

pytestmark = pytest.mark.slow

DOCUMENT = Path(__file__).resolve().parent.parent / "docs" / "privacy.md"
PERSONAL = (*personal_data.PERSONAL, *of_judging.PERSONAL, *of_reporting.PERSONAL)
LISTED = Counter(classified(PERSONAL, personal_data.OTHER | of_judging.OTHER | of_reporting.OTHER))


def stored_fields() -> set[tuple[str, str]]:
    return {
        (model._meta.label, field.name)
        for model in apps.get_models(include_auto_created=True)
        if not model._meta.proxy
        for field in model._meta.local_concrete_fields
        if field.name != "id"
    }


def row_of(held: Entry) -> str:
    """Write the row of the page's table."""
    fields = ", ".join(f"`{name}`" for name in held.fields.split())
    fate = held.fate + (f": {held.note}" if held.note else "")
    return f"| `{held.model}` | {fields} | {held.purpose} | {fate} |"


def test_every_field_is_listed_once_as_personal_or_not() -> None:
    stored = stored_fields()
    unlisted, gone = stored - set(LISTED), set(LISTED) - stored
    told = "classify in the personal_data.py of its app, and see what deleting does to it"
    assert not unlisted, f"{told}: {sorted(unlisted)}"
    assert not gone, f"listed, but there is no such field: {sorted(gone)}"
    assert [field for field, times in LISTED.items() if times > 1] == []


def test_the_page_lists_what_is_held() -> None:
    rows = [line for line in DOCUMENT.read_text(encoding="utf-8").splitlines() if line.startswith("| `")]
    expected = [row_of(held) for held in PERSONAL]
    assert rows == expected, "docs/privacy.md should hold:\n" + "\n".join(expected)

"""Short names in forms: an error in the pages' own words."""

from importlib import import_module
from pathlib import Path

from django import forms

ROOT = Path(__file__).resolve().parents[3]


def test_no_form_speaks_of_slugs() -> None:
    files = [path for package in ("annotation", "judging", "reporting") for path in (ROOT / package).rglob("*forms.py")]
    modules = [import_module(".".join(path.relative_to(ROOT).with_suffix("").parts)) for path in files]
    found = {
        (form.__name__, name): field.error_messages["invalid"]
        for module in modules
        for form in vars(module).values()
        for name, field in getattr(form, "base_fields", {}).items()
        if isinstance(field, forms.SlugField)
    }
    assert len(found) >= 7
    assert {str(message) for message in found.values()} == {"Letters, digits, dashes and underscores only."}

"""Static files: which are collected, and under names that change with their content."""

import re
from typing import Any

from django.contrib.staticfiles.apps import StaticFilesConfig
from django.core.files.base import ContentFile
from whitenoise.storage import CompressedManifestStaticFilesStorage


class StaticFiles(StaticFilesConfig):
    """Django's app, without files of other packages that no page of ours loads."""

    ignore_patterns = [*StaticFilesConfig.ignore_patterns, "django_htmx", "rest_framework"]


# A quarter of what a browser would load of a script. `tests/test_static_files.py` finds what looks like a comment and is not.
_FOR_READERS = re.compile(r"^[ \t]*(?://.*|/\*\*.*\*/)?\n|^[ \t]+| // .*$", re.MULTILINE)


class HashedStorage(CompressedManifestStaticFilesStorage):  # type: ignore[misc]  # WhiteNoise has no types
    """WhiteNoise's storage; scripts lose comments and indentation, and import each other by hashed names."""

    support_js_module_import_aggregation = True

    def _save(self, name: str, content: Any) -> str:
        if name.startswith("js/") and name.endswith(".js"):
            content.seek(0)
            content = ContentFile(_FOR_READERS.sub("", content.read().decode()).encode())
        saved: str = super()._save(name, content)
        return saved

"""Static files: which are collected, and under names that change with their content."""

from django.contrib.staticfiles.apps import StaticFilesConfig
from whitenoise.storage import CompressedManifestStaticFilesStorage


class StaticFiles(StaticFilesConfig):
    """Django's app, without files of other packages that no page of ours loads."""

    ignore_patterns = [*StaticFilesConfig.ignore_patterns, "django_htmx", "rest_framework"]


class HashedStorage(CompressedManifestStaticFilesStorage):  # type: ignore[misc]  # WhiteNoise has no types
    """WhiteNoise's storage, which also gives the modules that a script imports their hashed names."""

    support_js_module_import_aggregation = True

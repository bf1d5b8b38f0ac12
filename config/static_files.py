"""Static files under names that change with their content."""

from whitenoise.storage import CompressedManifestStaticFilesStorage


class HashedStorage(CompressedManifestStaticFilesStorage):  # type: ignore[misc]  # WhiteNoise has no types
    """WhiteNoise's storage, which also gives the modules that a script imports their hashed names."""

    support_js_module_import_aggregation = True

"""App configuration."""

from django.apps import AppConfig


class AnnotationConfig(AppConfig):
    """People rating: studies, instances, pairs, batches, HITs, assignments, ratings."""

    name = "annotation"
    default_auto_field = "django.db.models.BigAutoField"

"""Research groups: the wall between people who share studies and those who don't."""

from django.db import models
from django.utils import timezone

MAIN_GROUP = "main"


class ResearchGroup(models.Model):
    """People who work together. Every study belongs to one group; nobody sees another group's data."""

    slug = models.SlugField(max_length=80, unique=True)
    name = models.CharField(max_length=200)
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        ordering = ["slug"]

    def __str__(self) -> str:
        return self.slug


def main_group() -> ResearchGroup:
    """Return the group that is there from the start, for installations that need only one."""
    return ResearchGroup.objects.get_or_create(slug=MAIN_GROUP, defaults={"name": "Main group"})[0]

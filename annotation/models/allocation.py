"""Arms drawn for raters and instances."""

from django.db import models
from django.db.models import Q

from annotation.models.annotators import Annotator
from annotation.models.importing import Instance
from annotation.models.studies import Study


class ArmDraw(models.Model):
    """One draw of a study's permuted blocks: the arm of the n-th rater or instance."""

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="arm_draws")
    number = models.PositiveIntegerField(help_text="Order of arrival, counted from 0.")
    annotator = models.OneToOneField(
        Annotator, null=True, blank=True, on_delete=models.CASCADE, related_name="arm_draw"
    )
    instance = models.OneToOneField(Instance, null=True, blank=True, on_delete=models.CASCADE, related_name="arm_draw")
    arm = models.CharField(max_length=50)

    class Meta:
        ordering = ["study", "number"]
        constraints = [
            models.UniqueConstraint(fields=["study", "number"], name="arm_draw_number_once_per_study"),
            models.CheckConstraint(
                condition=Q(annotator__isnull=False, instance=None) | Q(annotator=None, instance__isnull=False),
                name="arm_draw_of_a_rater_or_an_instance",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.study}/{self.number}: {self.arm}"

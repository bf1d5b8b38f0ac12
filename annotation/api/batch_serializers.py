"""Serializers of batches, and of requests to make, extend and copy them."""

from decimal import Decimal
from typing import Any

from rest_framework import serializers

from annotation.batches.changes import LONGEST_REASON
from annotation.batches.designs import DESIGNS
from annotation.batches.sampling import LONGEST_LEASE, MOST_CHECKS, MOST_HITS, MOST_PAIRS, MOST_RATERS, MOST_SEED
from annotation.batches.services import notices_of
from annotation.models import Batch
from annotation.models.separability import LONGEST_LABEL

SELECT = "all, random:N, top:N, stratified:BxN, importance:N, or ids (with instance_ids)."


def _one_of(*values: str, default: Any = serializers.empty) -> serializers.RegexField:
    """A field for one of these values; a pattern, since enums with the same field name collide in the schema."""
    message: dict[str, Any] = {"invalid": f"This must be one of {', '.join(values)}."}
    pattern = f"^({'|'.join(values)})$"
    return serializers.RegexField(
        pattern, required=default is serializers.empty, default=default, error_messages=message
    )


class BatchSerializer(serializers.ModelSerializer[Batch]):
    """HITs published together."""

    study = serializers.CharField(source="study.slug", read_only=True)
    system_a = serializers.CharField(source="system_a.name", read_only=True)
    system_b = serializers.CharField(source="system_b.name", read_only=True)
    selection = serializers.JSONField(read_only=True)

    class Meta:
        model = Batch
        fields = [
            *("id", "study", "name", "dataset", "system_a", "system_b", "pairs_per_hit", "raters_per_hit"),
            *("selection", "seed", "status", "origin", "purpose", "gold_rate", "repeat_rate", "lease_minutes"),
            *("most_hits_per_rater", "created_at", "launched_at", "closed_at"),
        ]


class ChangedBatchSerializer(BatchSerializer):
    """A batch after it was made or changed, with notices for its admin."""

    notices = serializers.SerializerMethodField()

    class Meta(BatchSerializer.Meta):
        fields = [*BatchSerializer.Meta.fields, "notices"]

    def get_notices(self, batch: Batch) -> list[str]:
        """Return the notices that the pages show."""
        return notices_of(batch)


class ChoiceSerializer(serializers.Serializer[Any]):
    """How instances are selected."""

    select = serializers.CharField(required=False, max_length=60, help_text=SELECT)
    instance_ids: Any = serializers.ListField(child=serializers.CharField(max_length=200), required=False)
    similarity = serializers.CharField(required=False, allow_null=True, max_length=LONGEST_LABEL)
    seed = serializers.IntegerField(required=False, allow_null=True, min_value=0, max_value=MOST_SEED)
    preview = serializers.BooleanField(required=False, default=False, help_text="Say what it comes to; store nothing.")
    fee_percent = serializers.DecimalField(
        required=False, max_digits=6, decimal_places=2, min_value=Decimal(0), max_value=Decimal(1000),
        help_text="What a channel takes on top of the pay; for the preview only.",
    )  # fmt: skip


class NewBatchSerializer(ChoiceSerializer):
    """A batch to be made; `pairs`, `raters` and `select` are the study's own when left out."""

    study = serializers.CharField(max_length=80)
    name = serializers.CharField(required=False, max_length=200, help_text="Not needed for a preview.")
    dataset = serializers.CharField(max_length=100)
    systems: Any = serializers.ListField(
        child=serializers.CharField(max_length=200), min_length=2, max_length=2, required=False
    )
    design = serializers.CharField(
        required=False, max_length=20, help_text=f"Instead of systems, one batch for each pair of them: {DESIGNS}."
    )
    pairs = serializers.IntegerField(required=False, min_value=1, max_value=MOST_PAIRS)
    raters = serializers.IntegerField(required=False, min_value=1, max_value=MOST_RATERS)
    purpose = _one_of(*Batch.Purpose.values, default=Batch.Purpose.RATING.value)
    gold_rate = serializers.FloatField(required=False, default=0.0, min_value=0, max_value=MOST_CHECKS)
    repeat_rate = serializers.FloatField(required=False, default=0.0, min_value=0, max_value=MOST_CHECKS)
    lease_minutes = serializers.IntegerField(required=False, default=60, min_value=1, max_value=LONGEST_LEASE)
    most_hits_per_rater = serializers.IntegerField(
        required=False, allow_null=True, default=None, min_value=1, max_value=MOST_HITS
    )
    status = _one_of(Batch.Status.OPEN.value, Batch.Status.DRAFT.value, default=Batch.Status.OPEN.value)


class DesignSerializer(serializers.Serializer[Any]):
    """The batches of a design."""

    batches = ChangedBatchSerializer(many=True)


class StatusSerializer(serializers.Serializer[Any]):
    """The new status of a batch, or of all batches of its design."""

    status = _one_of(Batch.Status.OPEN.value, Batch.Status.PAUSED.value, Batch.Status.CLOSED.value)
    reason = serializers.CharField(required=False, allow_blank=True, default="", max_length=LONGEST_REASON)
    design = serializers.BooleanField(default=False, help_text="All batches of the design that can take the status.")


class ExtensionSerializer(ChoiceSerializer):
    """An extension of a batch, and why."""

    more_raters = serializers.IntegerField(required=False, default=0, min_value=0, max_value=MOST_RATERS)
    reason = serializers.CharField(required=False, max_length=LONGEST_REASON, help_text="Not needed for a preview.")
    known_raters = serializers.IntegerField(
        required=False, allow_null=True, default=None, help_text="Refused when the batch has another number by now."
    )
    known_hits = serializers.IntegerField(
        required=False, allow_null=True, default=None, help_text="Refused when the batch has another number by now."
    )


class BatchCopySerializer(serializers.Serializer[Any]):
    """A copy of a batch."""

    name = serializers.CharField(max_length=200)
    dataset = serializers.CharField(required=False, max_length=100)
    systems: Any = serializers.ListField(
        child=serializers.CharField(max_length=200), min_length=2, max_length=2, required=False
    )
    seed = serializers.IntegerField(required=False, allow_null=True, default=None, min_value=0, max_value=MOST_SEED)
    status = _one_of(Batch.Status.OPEN.value, Batch.Status.DRAFT.value, default=Batch.Status.DRAFT.value)


class BarSerializer(serializers.Serializer[Any]):
    """One bin of separability; that of undefined values has no bounds."""

    low = serializers.FloatField(allow_null=True)
    high = serializers.FloatField(allow_null=True)
    chosen = serializers.IntegerField()
    left = serializers.IntegerField()


class WorkSerializer(serializers.Serializer[Any]):
    """Workload; null where it is unknown or unbounded. Money is text."""

    hits = serializers.IntegerField()
    pairs = serializers.IntegerField()
    ratings = serializers.IntegerField(allow_null=True)
    assignments = serializers.IntegerField(allow_null=True)
    hidden_checks = serializers.IntegerField(allow_null=True)
    raters_needed = serializers.IntegerField(allow_null=True)
    hours = serializers.FloatField(allow_null=True)
    pay = serializers.CharField(allow_null=True)
    fee = serializers.CharField(allow_null=True)
    cost = serializers.CharField(allow_null=True)
    currency = serializers.CharField(allow_null=True)


class ForecastSerializer(WorkSerializer):
    """The forecast of a batch."""

    seed = serializers.IntegerField()
    pool = serializers.IntegerField()
    chosen = serializers.IntegerField()
    left_out: Any = serializers.DictField(child=serializers.IntegerField())
    instance_ids: Any = serializers.ListField(child=serializers.CharField())
    by_systems: Any = serializers.DictField(
        child=serializers.IntegerField(), required=False, help_text="HITs, of a design."
    )
    similarity = serializers.CharField(allow_null=True)
    histogram = BarSerializer(many=True)


class ExtensionForecastSerializer(serializers.Serializer[Any]):
    """The forecast of an extension: by raters, by HITs, or null."""

    more_raters = WorkSerializer(allow_null=True)
    more_hits = ForecastSerializer(allow_null=True)

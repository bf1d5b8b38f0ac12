"""Serializers of batches, and of requests to make, extend and copy them."""

from typing import Any

from rest_framework import serializers

from annotation.batches.services import notices_of
from annotation.models import Batch


class BatchSerializer(serializers.ModelSerializer[Batch]):
    """HITs published together."""

    study = serializers.CharField(source="study.slug", read_only=True)
    system_a = serializers.CharField(source="system_a.name", read_only=True)
    system_b = serializers.CharField(source="system_b.name", read_only=True)
    selection = serializers.JSONField(read_only=True)

    class Meta:
        model = Batch
        fields = "__all__"


class ChangedBatchSerializer(BatchSerializer):
    """A batch after it was created or changed, with notices for its admin."""

    notices = serializers.SerializerMethodField()

    def get_notices(self, batch: Batch) -> list[str]:
        """Return the notices that the pages show."""
        return notices_of(batch)


class DesignSerializer(serializers.Serializer[Any]):
    """The batches of a design."""

    batches = ChangedBatchSerializer(many=True)


class BarSerializer(serializers.Serializer[Any]):
    """One bin of separability. That of undefined values has no bounds."""

    low = serializers.FloatField(allow_null=True)
    high = serializers.FloatField(allow_null=True)
    chosen = serializers.IntegerField()
    left = serializers.IntegerField()


class WorkSerializer(serializers.Serializer[Any]):
    """Workload. Null where it is unknown or unbounded. Money is text."""

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

"""What is compared: systems, instances, generations; and how they meet: matchups, pairs, comparison tables."""

from django.db import models
from django.db.models import F, Q
from django.db.models.functions import MD5

from annotation.keys import new_key
from annotation.models.study import Study


class System(models.Model):
    """A language model with its settings."""

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="systems")
    name = models.CharField(max_length=200)
    family = models.CharField(max_length=100, blank=True)
    position = models.PositiveIntegerField(help_text="Order of first appearance: of two systems the earlier one is A.")

    class Meta:
        ordering = ["study", "position"]
        constraints = [
            models.UniqueConstraint(fields=["study", "name"], name="system_name_once_per_study"),
            models.UniqueConstraint(fields=["study", "position"], name="system_position_once_per_study"),
        ]

    def __str__(self) -> str:
        return self.name


class Instance(models.Model):
    """One test input."""

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="instances")
    instance_id = models.CharField(max_length=200, help_text="The id in the file that it came from.")
    dataset = models.CharField(max_length=100)
    source = models.TextField(blank=True)
    gold = models.JSONField(null=True, blank=True)
    metadata = models.JSONField(default=dict, blank=True)
    position = models.PositiveIntegerField()

    class Meta:
        ordering = ["study", "position"]
        constraints = [
            models.UniqueConstraint(fields=["study", "instance_id"], name="instance_id_once_per_study"),
            models.UniqueConstraint(fields=["study", "position"], name="instance_position_once_per_study"),
        ]
        indexes = [models.Index(fields=["study", "dataset"], name="instance_dataset")]

    def __str__(self) -> str:
        return self.instance_id


class Generation(models.Model):
    """One sampled output of a system for an instance."""

    instance = models.ForeignKey(Instance, on_delete=models.CASCADE, related_name="generations")
    system = models.ForeignKey(System, on_delete=models.CASCADE, related_name="generations")
    index = models.PositiveIntegerField()
    text = models.TextField()
    # Kept by the database itself, whoever writes: it only tells that a text changed, and guards nothing.
    text_md5 = models.GeneratedField(
        expression=MD5("text"), output_field=models.CharField(max_length=32), db_persist=True
    )

    class Meta:
        ordering = ["instance", "system", "index"]
        constraints = [
            models.UniqueConstraint(fields=["instance", "system", "index"], name="generation_index_once_per_system")
        ]

    def __str__(self) -> str:
        return f"{self.instance_id}/{self.system_id}/{self.index}"


class Matchup(models.Model):
    """One instance with two systems: what separability and consistency are defined on."""

    instance = models.ForeignKey(Instance, on_delete=models.CASCADE, related_name="matchups")
    system_a = models.ForeignKey(System, on_delete=models.CASCADE, related_name="matchups_as_a")
    system_b = models.ForeignKey(System, on_delete=models.CASCADE, related_name="matchups_as_b")

    class Meta:
        ordering = ["instance__position", "system_a__position", "system_b__position"]
        constraints = [
            models.UniqueConstraint(fields=["instance", "system_a", "system_b"], name="matchup_once_per_instance"),
            models.CheckConstraint(condition=~Q(system_a=F("system_b")), name="matchup_of_two_systems"),
        ]

    def __str__(self) -> str:
        return f"{self.instance}: {self.system_a} / {self.system_b}"


class Pair(models.Model):
    """Two generations of one matchup, one per system, in study order."""

    key = models.CharField(max_length=32, unique=True, default=new_key, editable=False)
    matchup = models.ForeignKey(Matchup, on_delete=models.CASCADE, related_name="pairs")
    index = models.PositiveIntegerField()
    generation_a = models.ForeignKey(Generation, on_delete=models.CASCADE, related_name="pairs_as_a")
    generation_b = models.ForeignKey(Generation, on_delete=models.CASCADE, related_name="pairs_as_b")

    class Meta:
        ordering = ["matchup", "index"]
        constraints = [models.UniqueConstraint(fields=["matchup", "index"], name="pair_index_once_per_matchup")]

    def __str__(self) -> str:
        return f"{self.matchup_id}/{self.index}"


class ComparisonTable(models.Model):
    """What only A, both, and only B say about each aspect of one pair."""

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="tables")
    table_id = models.CharField(max_length=200)
    pair = models.ForeignKey(Pair, on_delete=models.CASCADE, related_name="tables")
    variant = models.CharField(max_length=40)
    aspects = models.JSONField(default=list)
    rows = models.JSONField(default=list)
    made_by = models.JSONField(default=dict, blank=True)

    class Meta:
        ordering = ["pair", "variant", "table_id"]
        constraints = [models.UniqueConstraint(fields=["study", "table_id"], name="table_id_once_per_study")]

    def __str__(self) -> str:
        return self.table_id

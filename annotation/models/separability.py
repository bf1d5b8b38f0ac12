"""Computed alignments and separability of matchups, the jobs that compute them, and finding runs by a measure's name."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from django.conf import settings
from django.db import models
from django.db.models.functions import Coalesce
from django.utils import timezone

from annotation.models.importing import Matchup, System
from annotation.models.jobs import Job
from annotation.models.studies import Study

LONGEST_MODEL = 300
LONGEST_LABEL = 500
SHORT_FINGERPRINT = 8  # characters in a label, at least
_NOT_DRAWN = -1  # replaces NULL in the constraint, since NULLs are never equal


@dataclass(frozen=True)
class Measure:
    """The settings that must be equal in runs whose alignments are compared or combined.

    model, model_fingerprint : encoder of the texts, and the hash of its weights; empty for a lexical similarity
    samples, cross_pairs     : how many generations of each system, pairs of each matchup, were drawn; None for all
    seed                     : of these draws; None without draws
    """

    similarity: str
    model: str = ""
    model_fingerprint: str = ""
    samples: int | None = None
    cross_pairs: int | None = None
    seed: int | None = None

    @property
    def is_drawn(self) -> bool:
        """Tell whether only a sample of the generations or cross pairs was compared."""
        return self.samples is not None or self.cross_pairs is not None

    @property
    def label(self) -> str:
        """The measure's label, as in `bertscore (small), 3 generations, seed 1`."""
        return self.label_with(0)

    def is_called(self, name: str) -> bool:
        """Tell whether `name` is the label, with or without a prefix of the model's fingerprint."""
        lengths = range(SHORT_FINGERPRINT, len(self.model_fingerprint) + 1)
        return name == self.label or any(name == self.label_with(length) for length in lengths)

    def label_with(self, characters: int) -> str:
        """Return the label with so many characters of the fingerprint, which distinguishes models of one name."""
        model = ", ".join(part for part in (self.model, self.model_fingerprint[:characters]) if part)
        parts = [f"{self.similarity} ({model})" if self.model else self.similarity]
        parts += [f"{self.samples} generations"] if self.samples else []
        parts += [f"{self.cross_pairs} cross pairs"] if self.cross_pairs else []
        parts += [f"seed {self.seed}"] if self.seed is not None else []
        return ", ".join(parts)


class Measured(models.Model):
    """Settings of the measure by which alignments are computed. Runs that differ in one of them coexist."""

    similarity = models.CharField(max_length=60)
    model = models.CharField(
        max_length=LONGEST_MODEL,
        blank=True,
        default="",
        help_text="Encoder of the texts; empty for a lexical similarity.",
    )
    model_fingerprint = models.CharField(
        max_length=64, blank=True, default="", help_text="Hash of the model's weights."
    )
    samples = models.PositiveIntegerField(
        null=True, blank=True, help_text="Generations drawn of each system; empty for all that there are."
    )
    cross_pairs = models.PositiveIntegerField(
        null=True, blank=True, help_text="Pairs of A and B drawn of each matchup; empty for all that there are."
    )
    seed = models.PositiveBigIntegerField(null=True, blank=True, help_text="Of the draws; empty when nothing is drawn.")

    class Meta:
        abstract = True

    @property
    def measure(self) -> Measure:
        """The settings that must be equal in runs whose alignments are compared or combined."""
        return Measure(self.similarity, self.model, self.model_fingerprint, self.samples, self.cross_pairs, self.seed)

    @property
    def label(self) -> str:
        return self.measure.label


class SeparabilityRun(Measured):
    """Alignments of every matchup of one configuration by one measure, in one normalisation group."""

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="separability_runs")
    dataset = models.CharField(max_length=100)
    system_a = models.ForeignKey(System, on_delete=models.CASCADE, related_name="+")
    system_b = models.ForeignKey(System, on_delete=models.CASCADE, related_name="+")
    group = models.CharField(max_length=60, help_text="configuration, study, or constants")
    low = models.FloatField(help_text="Smallest alignment of the normalisation group: becomes 0.")
    high = models.FloatField(help_text="Largest alignment of the normalisation group: becomes 1.")
    texts_sha256 = models.CharField(max_length=64, help_text="Hash of all input texts: shows an outdated run.")
    short = models.PositiveIntegerField(
        default=0, help_text="Matchups with fewer generations, or cross pairs, than were to be drawn: all were taken."
    )
    computed_at = models.DateTimeField(default=timezone.now, help_text="When it was last requested.")
    seconds = models.FloatField(
        null=True, blank=True, help_text="Of the last computation that changed it, all configurations."
    )
    software_version = models.CharField(max_length=40)

    class Meta:
        ordering = ["-computed_at", "-pk"]
        constraints = [
            models.UniqueConstraint(
                *("study", "dataset", "system_a", "system_b", "similarity", "model", "model_fingerprint"),
                *(Coalesce(name, _NOT_DRAWN) for name in ("samples", "cross_pairs", "seed")),
                name="separability_once_per_configuration_and_measure",
            )
        ]

    def __str__(self) -> str:
        return f"{self.study}: {self.dataset}, {self.system_a} / {self.system_b}, {self.label}"


class RawAlignment(models.Model):
    """Mean similarities of one matchup, and the digest of its texts."""

    digest = models.CharField(
        max_length=64, blank=True, default="", help_text="Hash of measure and texts: shows an outdated value."
    )
    self_a = models.FloatField(null=True, help_text="Empty when A has a single generation.")
    self_b = models.FloatField(null=True, help_text="Empty when B has a single generation.")
    cross = models.FloatField()

    class Meta:
        abstract = True


class Alignment(RawAlignment):
    """Raw mean similarities of one matchup, and the separability of the normalised ones. NULL where undefined."""

    run = models.ForeignKey(SeparabilityRun, on_delete=models.CASCADE, related_name="alignments")
    matchup = models.ForeignKey(Matchup, on_delete=models.CASCADE, related_name="alignments")
    separability = models.FloatField(null=True)

    class Meta:
        ordering = ["run", "matchup"]
        constraints = [models.UniqueConstraint(fields=["run", "matchup"], name="alignment_once_per_matchup")]

    def __str__(self) -> str:
        return f"{self.run_id}/{self.matchup_id}"

    @property
    def why_undefined(self) -> str:
        """Why there is no separability, or an empty string if there is one."""
        single = [name for name, value in (("A", self.self_a), ("B", self.self_b)) if value is None]
        return f"system {' and system '.join(single)} with a single generation" if single else ""


class StagedAlignment(RawAlignment):
    """A partial result of a computation that is under way or was interrupted. The next one reuses it.

    Not read by findings. Rows are deleted when the whole computation has been stored.
    """

    measure_sha256 = models.CharField(max_length=64)
    matchup = models.ForeignKey(Matchup, on_delete=models.CASCADE, related_name="+")
    staged_at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["measure_sha256", "matchup"], name="staged_alignment_once_per_matchup")
        ]

    def __str__(self) -> str:
        return f"{self.measure_sha256[:8]}/{self.matchup_id}"


class SeparabilityJob(Job):
    """A computation requested on the web. Its progress counts matchups whose alignments are computed."""

    job_kind, page = "separability", "annotation:study"
    worked_by = "annotation.separability.jobs.compute"

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="separability_jobs")
    asked = models.JSONField(help_text="Options of the request: similarity, model, group, samples, and so on.")
    asked_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )

    class Meta:
        ordering = ["-created_at", "-pk"]

    def __str__(self) -> str:
        return f"{self.study}: {self.asked.get('similarity', '')}, {self.status}"

    @property
    def stops_itself(self) -> bool:
        """Its model may take minutes for a portion of texts."""
        return False


class TextVector(models.Model):
    """The vector of one text by one model. The text itself is not stored here."""

    model = models.CharField(max_length=64, help_text="Fingerprint: SHA-256 of weights and settings.")
    text_sha256 = models.CharField(max_length=64)
    vector = models.BinaryField(help_text="Little-endian float32.")
    made_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["pk"]
        constraints = [models.UniqueConstraint(fields=["model", "text_sha256"], name="text_vector_once_per_model")]

    def __str__(self) -> str:
        return f"{self.text_sha256[:12]} by {self.model[:12]}"


def find_run(runs: Sequence[SeparabilityRun], name: str | None = None) -> SeparabilityRun | None:
    """Return the run with this label, else the best of this (by default the latest) similarity.

    Of several runs of a similarity, those of all generations and cross pairs come before samples, then the latest.

    runs : the latest first
    """
    if not runs:
        return None
    labelled = [run for run in runs if name and run.measure.is_called(name)]
    similarity = name or runs[0].measure.similarity
    alike = (run for run in runs if run.measure.similarity == similarity)
    candidates = labelled or sorted(alike, key=lambda run: run.measure.is_drawn)
    return candidates[0] if candidates else None


def labels_of(runs: Iterable[SeparabilityRun]) -> dict[Measure, str]:
    """Return a unique label of each measure, with fingerprints where models share a name."""
    by_label: dict[str, dict[Measure, None]] = {}
    for run in runs:
        by_label.setdefault(run.measure.label, {})[run.measure] = None
    return {
        measure: measure.label_with(_characters([item.model_fingerprint for item in alike]))
        for alike in by_label.values()
        for measure in alike
    }


def names_of(runs: Iterable[SeparabilityRun]) -> list[str]:
    """List the names by which `find_run` finds one of these: similarities and labels."""
    listed = list(runs)
    return sorted({run.measure.similarity for run in listed} | set(labels_of(listed).values()))


def _characters(fingerprints: Sequence[str]) -> int:
    if len(fingerprints) == 1:
        return 0
    longest = max(map(len, fingerprints))
    enough = (
        length
        for length in range(SHORT_FINGERPRINT, longest)
        if len({fingerprint[:length] for fingerprint in fingerprints}) == len(fingerprints)
    )
    return next(enough, longest)

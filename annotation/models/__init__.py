"""The tables of people rating, split by noun."""

from annotation.models.content import ComparisonTable, Generation, Instance, Matchup, Pair, System
from annotation.models.people import Annotator, Consent, RoleGrant
from annotation.models.rating import Assignment, Display, Rating
from annotation.models.separability import Alignment, SeparabilityRun
from annotation.models.study import ImportRecord, Study
from annotation.models.work import Batch, Hit, HitPair, Slot

__all__ = [
    "Alignment",
    "Annotator",
    "Assignment",
    "Batch",
    "ComparisonTable",
    "Consent",
    "Display",
    "Generation",
    "Hit",
    "HitPair",
    "ImportRecord",
    "Instance",
    "Matchup",
    "Pair",
    "Rating",
    "RoleGrant",
    "SeparabilityRun",
    "Slot",
    "Study",
    "System",
]

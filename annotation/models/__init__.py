"""The tables of people rating, split by noun."""

from annotation.models.content import ComparisonTable, Generation, Instance, Matchup, Pair, System
from annotation.models.people import Annotator, Consent, QualificationResult, RoleGrant
from annotation.models.protocol import ArmDraw
from annotation.models.rating import Assignment, Display, Flag, Rating, VoteChange
from annotation.models.separability import Alignment, SeparabilityRun
from annotation.models.study import ImportRecord, Study
from annotation.models.work import Batch, Hit, HitPair, Slot

__all__ = [
    "Alignment",
    "Annotator",
    "ArmDraw",
    "Assignment",
    "Batch",
    "ComparisonTable",
    "Consent",
    "Display",
    "Flag",
    "Generation",
    "Hit",
    "HitPair",
    "ImportRecord",
    "Instance",
    "Matchup",
    "Pair",
    "QualificationResult",
    "Rating",
    "RoleGrant",
    "SeparabilityRun",
    "Slot",
    "Study",
    "System",
    "VoteChange",
]

"""The tables of people rating, split by noun."""

from annotation.models.content import ComparisonTable, Generation, Instance, Matchup, Pair, System
from annotation.models.events import Event, Message
from annotation.models.groups import ResearchGroup
from annotation.models.people import Annotator, Consent, QualificationResult, RoleGrant
from annotation.models.protocol import ArmDraw
from annotation.models.rating import Assignment, Display, Flag, Rating, VoteChange
from annotation.models.recruitment import (
    Channel,
    Invitation,
    Participant,
    PlatformAction,
    Submission,
    WebhookEvent,
)
from annotation.models.separability import Alignment, SeparabilityJob, SeparabilityRun, StagedAlignment
from annotation.models.study import ImportRecord, Study
from annotation.models.vectors import TextVector
from annotation.models.work import Batch, Hit, HitPair, Slot

__all__ = [
    "Alignment",
    "Annotator",
    "ArmDraw",
    "Assignment",
    "Batch",
    "Channel",
    "ComparisonTable",
    "Consent",
    "Display",
    "Event",
    "Flag",
    "Generation",
    "Hit",
    "HitPair",
    "ImportRecord",
    "Instance",
    "Invitation",
    "Matchup",
    "Message",
    "Pair",
    "Participant",
    "PlatformAction",
    "QualificationResult",
    "Rating",
    "ResearchGroup",
    "RoleGrant",
    "SeparabilityJob",
    "SeparabilityRun",
    "Slot",
    "StagedAlignment",
    "Study",
    "Submission",
    "System",
    "TextVector",
    "VoteChange",
    "WebhookEvent",
]

"""The database tables of people rating. Each module is named after the room that writes its tables.

May use questions and core.
"""

from annotation.models.allocation import ArmDraw
from annotation.models.annotators import Annotator, Consent, Message
from annotation.models.hits import Batch, Hit, HitPair, Slot
from annotation.models.importing import ComparisonTable, Generation, Instance, Matchup, Pair, System, Upload
from annotation.models.mail import Mail
from annotation.models.members import AuditEntry, ResearchGroup, RoleGrant
from annotation.models.quality import QualificationResult
from annotation.models.rating import Assignment, Display, Flag, Rating, VoteChange
from annotation.models.recruitment import Channel, Invitation, Participant, PlatformAction, Submission, WebhookEvent
from annotation.models.separability import Alignment, SeparabilityJob, SeparabilityRun, StagedAlignment, TextVector
from annotation.models.studies import Event, ImportRecord, Study
from annotation.models.tokens import ApiToken

__all__ = [
    "Alignment",
    "Annotator",
    "ApiToken",
    "ArmDraw",
    "Assignment",
    "AuditEntry",
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
    "Mail",
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
    "Upload",
    "VoteChange",
    "WebhookEvent",
]

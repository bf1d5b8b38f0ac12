"""The database tables of people rating. Each module is named after the room that writes its tables.

May use questions and core.
"""

from annotation.models.annotators import Annotator, ArmDraw, Consent, Message, QualificationResult
from annotation.models.hits import Batch, Hit, HitPair, Slot
from annotation.models.importing import ComparisonTable, Generation, Instance, Matchup, Pair, System, Upload
from annotation.models.mail import Mail
from annotation.models.members import ApiToken, AuditEntry, ResearchGroup, RoleGrant
from annotation.models.rating import Assignment, Display, Flag, Rating, VoteChange
from annotation.models.recruitment import Channel, Invitation, Participant, PlatformAction, Submission, WebhookEvent
from annotation.models.separability import Alignment, SeparabilityJob, SeparabilityRun, StagedAlignment, TextVector
from annotation.models.studies import Event, ImportRecord, Study

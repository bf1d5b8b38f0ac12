"""The database tables of judging. Each module is named after the room that writes its tables.

May use no other room.
"""

from judging.models.aspects import AspectSet, Distillation
from judging.models.audits import AuditAnswer, JudgeAudit
from judging.models.endpoints import Endpoint
from judging.models.generation import GenerationRun
from judging.models.review import RationaleMark
from judging.models.runs import Completion, Judge, JudgeRun, Judgment, ProviderBatch, RunHolder, RunWorker
from judging.models.tables import TableCheck, TableMaking
from judging.models.tuning import JudgeTuning
from judging.models.wordings import PromptFile

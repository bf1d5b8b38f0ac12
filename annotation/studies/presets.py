"""Templates of studies: settings, and defaults of the batches."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from django.db.models import Count

from annotation.core.errors import UnknownName
from annotation.models import Matchup, Study

BLANK, INSTRUCTIONS = "blank", "instructions"
ORIGINS = ("template", "copy")  # kinds of import records that name a study's template or original

# Not translated: these become the study's own texts, in the study's language.
_ON_SUMMARIES = """Read the source text first, then each pair of summaries.

- Choose the summary that you would rather be given by a person who has read the text for you.
- It should say what matters in the text, and nothing that the text doesn't say.
- Take every pair for itself. Pairs may be much alike, and the better one may be on either side.
- When you would take either, choose “no preference”."""

_ON_TABLES = """You are asked twice about each pair.

1. First read the source text and both summaries, and choose the one that you prefer.
2. When all pairs have an answer, they are shown again one by one. Some have a table of what only one of the two says
   and what both say. Keep your choice or change it. When you change it, say why in a sentence.

A table can be wrong: look at the texts before you trust it, and report a row that they don't support."""


@dataclass(frozen=True)
class BatchDefaults:
    """Default settings of a study's batches."""

    select: str = "all"
    pairs: int = 5
    raters: int = 3


@dataclass(frozen=True)
class StudyTemplate:
    """Initial settings of a study. All of them may be changed."""

    name: str
    title: str
    description: str
    batch: BatchDefaults = BatchDefaults()
    settings: Mapping[str, Any] = field(default_factory=dict)

    def study(self) -> Study:
        """Return an unsaved study with these settings."""
        return Study(**self.settings, pairs_per_hit=self.batch.pairs, raters_per_hit=self.batch.raters)


_ALL = (
    StudyTemplate(
        BLANK,
        "Blank",
        "One vote on each pair, with “no preference”; all else by default.",
    ),
    StudyTemplate(
        "paper-004",
        "Preferences by separability",
        (
            "The set-up of “Compare without Despair”. 50 instances drawn at random from each configuration, 5 "
            "pairs on a HIT, 3 raters per HIT, “no preference” on offer."
        ),
        BatchDefaults("random:50", pairs=5, raters=3),
        MappingProxyType(
            {
                "task_kind": "summarization",
                "question": "Which summary do you prefer?",
                "guidelines": _ON_SUMMARIES,
                "ties_allowed": True,
                "pair_order": "random",
                "protocol": "one-stage",
                "pay_per_hit": "1.20",
                "currency": "USD",
                "minutes_per_hit": 4,
            }
        ),
    ),
    StudyTemplate(
        "two-stage",
        "Two stages with comparison tables",
        (
            "Two votes on each pair. For the second, half of the raters see a comparison table and half are "
            "only asked again. 4 raters per HIT, two of each half. Import the tables before the first batch."
        ),
        BatchDefaults("random:50", pairs=5, raters=4),
        MappingProxyType(
            {
                "task_kind": "summarization",
                "question": "Which summary do you prefer?",
                "guidelines": _ON_TABLES,
                "protocol": "two-stage",
                "arms": ["none", "table:c8"],
                "arm_unit": "rater",
                "balance_arms": True,
                "reason_min_length": 20,
                "minutes_per_hit": 8,
            }
        ),
    ),
    StudyTemplate(
        "pilot",
        "Quick pilot",
        (
            "10 instances drawn at random, 3 pairs on a HIT, 2 raters per HIT. Shows whether raters understand "
            "the question, how long a HIT takes, and how much answers vary (for the planner)."
        ),
        BatchDefaults("random:10", pairs=3, raters=2),
        MappingProxyType({"most_hits_per_rater": 10}),
    ),
    StudyTemplate(
        INSTRUCTIONS,
        "Following instructions",
        "Answers to instructions or questions. Default for files of AlpacaEval and Arena.",
        settings=MappingProxyType(
            {"task_kind": "instruction", "question": "Which answer do you prefer?", "source_label": "Instruction"}
        ),
    ),
)
TEMPLATES: Mapping[str, StudyTemplate] = MappingProxyType({item.name: item for item in _ALL})


def find_template(name: str) -> StudyTemplate:
    """Return a template by its name.

    Raises: UnknownName listing the known ones.
    """
    if name not in TEMPLATES:
        raise UnknownName(f"there is no template {name!r}; there are {', '.join(TEMPLATES)}")
    return TEMPLATES[name]


def recorded_selection(study: Study) -> str:
    """Return the selection of the template or study that this one was created from."""
    origin = study.imports.filter(kind__in=ORIGINS).order_by("pk").first()
    return str(origin.options.get("select", "all")) if origin else "all"


def batch_defaults(study: Study) -> BatchDefaults:
    """Return the defaults of a study's batches: its own settings, and the recorded selection.

    Pairs are at most those of any of the first hundred matchups. A study with no more instances than its selection draws
    at random takes all.
    """
    select = recorded_selection(study)
    how, _colon, number = select.partition(":")
    if how == "random" and 0 < study.instances.count() <= int(number):
        select = "all"
    first = Matchup.objects.filter(instance__study=study).order_by("pk").values("pk")[:100]
    counted = Matchup.objects.filter(pk__in=[row["pk"] for row in first]).annotate(available=Count("pairs"))
    most_pairs = max(counted.values_list("available", flat=True), default=study.pairs_per_hit)
    return BatchDefaults(select, min(study.pairs_per_hit, most_pairs), study.raters_per_hit)

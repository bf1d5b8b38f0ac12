"""Checks of a study's comparison tables with their figures, as the command and the worker make them."""

from dataclasses import dataclass
from typing import Any

from annotation.models import Study
from judging.models import Endpoint
from judging.tables.checked_tables import ModelFigure, model_figures
from judging.tables.entailment import EntailmentProgress, check_entailment
from judging.tables.entailment_calls import name_of

LEVEL = {"level": 0.95}


@dataclass(frozen=True)
class Checked:
    """Checked tables, the figures of all tables by variant, and the same as a document."""

    done: EntailmentProgress
    figures: dict[str, ModelFigure]
    document: dict[str, Any]


def checked_by_entailment(study: Study, *, endpoint: Endpoint, variant: str, **running: Any) -> Checked:
    """Check by a chat model's answers. Arguments and errors as of `check_entailment`."""
    done = check_entailment(study, endpoint=endpoint, variant=variant, **running)
    figures, usage = model_figures(study, model=name_of(endpoint), variant=variant), done.usage
    document = {
        "study": study.slug,
        "model": name_of(endpoint),
        **{name: getattr(done, name) for name in ("made", "kept", "unread")},
        "calls": usage.calls,
        "cached": usage.cached,
        "cost": None if usage.total.cost is None else float(usage.total.cost),
        "variants": {
            name: {
                part: vars(figure) | LEVEL
                for part, figure in (("entailment", row.entailment), ("coverage", row.coverage))
            }
            for name, row in figures.items()
        },
    }
    return Checked(done, figures, document)

"""Columns of judgments in long form, one presentation a row: what exports write and `import_judgments` reads."""

from annotation.importing.formats.long_form import RATING_COLUMNS
from annotation.models import Study

JUDGMENT_COLUMNS = (
    *RATING_COLUMNS,
    *("judge", "method", "model", "params", "prompt_version", "order", "repeat", "negated", "status", "verdict"),
    *("p_b", "score_a", "score_b", "rationale", "calls", "prompt_tokens", "completion_tokens", "cost", "latency_ms"),
    *("completion_keys", "token_mass", "served_models", "fingerprints", "providers", "prompt_cut"),
)
QUESTION = "question"  # its key; written where a study asks several questions, read everywhere, empty for the main one


def judgment_columns(study: Study) -> tuple[str, ...]:
    """Return the columns of a study's judgments."""
    return (*JUDGMENT_COLUMNS, QUESTION) if len(study.questions) > 1 else JUDGMENT_COLUMNS


# These columns distinguish the form from the other ones; the other columns may be missing.
NEEDED = ("instance_id", "pair_index", "system_a", "system_b", "judge", "order", "status", "verdict")

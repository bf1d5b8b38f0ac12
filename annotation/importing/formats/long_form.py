"""Columns of long-form ratings, in exports, imports and judgments."""

from collections.abc import Sequence

from annotation.questions.questions import Question

PLACE = (
    *("study", "batch", "hit", "instance_id", "dataset", "pair_index", "system_a", "system_b"),
    *("generation_a_index", "generation_b_index", "rater", "rater_kind"),
)
RATING_COLUMNS = (
    *PLACE,
    *("stage", "rating", "shown_first", "arm"),
    *("table_variant", "reason", "active_seconds", "wall_seconds", "rated_at", "late", "excluded"),
    *("exclusion_reason", "software_version"),
)
ANSWER_COLUMNS = ("question", "strength", "tie_kind")


def answer_columns(questions: Sequence[Question]) -> tuple[str, ...]:
    """Return those of `ANSWER_COLUMNS` that rows of people's answers have, by what a study's questions ask for."""
    asked = (len(questions) > 1, any(one.strength for one in questions), any(one.tie_kinds for one in questions))
    return tuple(column for column, wanted in zip(ANSWER_COLUMNS, asked, strict=True) if wanted)

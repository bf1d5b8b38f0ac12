"""Columns of people's work in long form, for exports and imports."""

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
HISTORY_COLUMNS = (
    *PLACE,
    *("purpose", "stage", "rating", "shown_first", "arm", "table_id", "table_variant", "table_of", "reason"),
    *("received_at", "chosen_at", "page", "active_seconds", "wall_seconds", "late", "excluded", "exclusion_reason"),
    *("software_version", "source_opened"),
)
FLAG_COLUMNS = (
    *PLACE,
    *("purpose", "kind", "reason", "comment", "table_id", "table_variant", "row", "aspect", "reported_at"),
    *("taken_back_at", "shown_first"),
)
RATER_COLUMNS = (
    *("rater", "kind", "joined_at", "excluded", "exclusion_reason", "warned_at", "blocked_at", "block_reason"),
)
ANSWER_COLUMNS = ("question", "strength", "tie_kind")


def answer_columns(questions: Sequence[Question]) -> tuple[str, ...]:
    """Return those of `ANSWER_COLUMNS` that rows of people's answers have, by what a study's questions ask for."""
    columns = (
        len(questions) > 1,
        any(question.strength for question in questions),
        any(question.tie_kinds for question in questions),
    )
    return tuple(column for column, requested in zip(ANSWER_COLUMNS, columns, strict=True) if requested)

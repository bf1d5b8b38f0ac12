"""Columns of long-form ratings, in exports, imports and judgments."""

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

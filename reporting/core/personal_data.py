"""The personal data in reporting's tables; see `annotation.privacy.personal_data`."""

from annotation.privacy.personal_data import Entry, Fate

PERSONAL = (
    Entry(
        "reporting.FindingsSnapshot",
        "numbers query",
        "findings as they were computed last, with raters by their codes",
        Fate.DELETED,
        "all of the study; they are computed again",
    ),
)

OTHER = {"reporting.FindingsSnapshot": "study key state read_at checked_at"}

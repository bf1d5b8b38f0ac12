"""The personal data in reporting's tables. See `annotation.privacy.personal_data`."""

from annotation.privacy.personal_data import JOB, Entry, Fate

PERSONAL = (
    Entry(
        "reporting.FindingsSnapshot",
        "numbers query",
        "findings as they were computed last, with raters by their codes",
        Fate.DELETED,
        "all of the study; they are computed again",
    ),
    Entry(
        "reporting.MadeFile",
        "asked_by",
        "who had a file of the study made; the file holds raters' work under their codes",
        Fate.DELETED,
        "all of the study, with the files",
    ),
)

OTHER = {
    "reporting.DataChanges": "study connection number",
    "reporting.Sign": "name at went_well",
    "reporting.FindingsSnapshot": "study key version departed read_at checked_at",
    "reporting.MadeFile": f"key study kind options size departed {JOB}",
}

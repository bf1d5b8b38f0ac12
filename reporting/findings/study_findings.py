"""The findings of a study: read from the database, then computed."""

from typing import Any

from annotation.models import Study
from reporting.findings.computing import compute_findings
from reporting.findings.data.inputs import Filters
from reporting.findings.data.reading import read_study


def findings_under(study: Study, filters: Filters) -> dict[str, Any]:
    """Compute all findings of a study under the given filters.

    Raises: UnknownName for an unknown batch.
    """
    return compute_findings(read_study(study, filters), filters)

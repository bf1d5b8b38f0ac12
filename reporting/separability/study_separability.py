"""Separability of a study's systems: reading and computing."""

from collections.abc import Sequence
from typing import Any

from annotation.models import Study
from annotation.studies.configurations import Configuration
from reporting.separability.arrays import SeparabilityFilters
from reporting.separability.distributions import separability_numbers
from reporting.separability.reading import read_ratings, read_separability, selected_configurations


def distinguishable(study: Study, filters: SeparabilityFilters | None = None) -> dict[str, Any]:
    """Compute the numbers of all selected configurations, with the advice for each and for all together.

    Raises: UnknownName for an unknown data set, system or similarity.
    """
    filters = filters or SeparabilityFilters()
    return distinguishable_on(study, filters, selected_configurations(study, filters))


def distinguishable_on(
    study: Study,
    filters: SeparabilityFilters,
    configurations_read: Sequence[Configuration],
    *,
    each: bool = True,
    pooled: bool = True,
) -> dict[str, Any]:
    """Compute the same for some configurations. `each` and `pooled` add advice."""
    rated = read_ratings(study, configurations_read, filters.question_number) if each or pooled else ()
    data = read_separability(study, filters, configurations_read, rated)
    return separability_numbers(data, filters, each=each, pooled=pooled)

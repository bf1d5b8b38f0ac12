"""The offer to rate instances on which judges disagree."""

from urllib.parse import urlencode

from django.urls import reverse

from annotation.batches.judged import disputed_matchups
from annotation.core.names import BASELINES
from annotation.models import Study
from annotation.studies.configurations import configurations
from annotation.studies.presets import batch_defaults

MOST = 40  # instances of such a batch


def offer_of_disputed(study: Study) -> tuple[str, str] | None:
    """Return the name and the address of a new batch where judges disagree most often, or None if they nowhere do, or are rules."""
    if not study.judge_runs.exclude(judge__method__in=BASELINES).exists():
        return None
    counted = [(len(disputed_matchups(configuration)), configuration) for configuration in configurations(study)]
    count, configuration = max(counted, key=lambda pair: pair[0], default=(0, None))
    if not count or configuration is None:
        return None
    number = min(count, MOST)
    unit = "pair" if batch_defaults(study).pairs == 1 else "instance"
    query = {
        "how": "disagree",
        "number": number,
        "dataset": configuration.dataset,
        "a": configuration.system_a.name,
        "b": configuration.system_b.name,
    }
    address = f"{reverse('annotation:new-batch', args=[study.slug])}?{urlencode(query)}"
    which = f"{number} {unit}{'s' * (number > 1)}" if number == count else f"{number} of {count} {unit}s"
    part = f" of {configuration}" if len(counted) > 1 else ""
    return f"Rate {which}{part} on which judges disagree", address

"""Shared by the commands about batches: options, selections, and batches as JSON."""

from collections.abc import Mapping
from typing import Any

from annotation.batches.sampling import SELECTIONS, ids_of, shown_selection
from annotation.core.errors import UnknownName
from annotation.management.commands._base import argument, read_file
from annotation.models import Batch, Study
from annotation.studies.services import find_study

SELECT = {"help": f"{SELECTIONS}, or ids:FILE (one id a line)"}
TWO = {"nargs": 2, "metavar": ("A", "B")}
NOT_OPTIONS = ("preview", "fee_percent", "instance_ids")  # of the forms, for pages and the API
BATCH = (argument("study", metavar="STUDY"), argument("--batch", required=True, metavar="NAME"))


def batch_of(options: Mapping[str, Any]) -> Batch:
    """Return the batch that the options name.

    Raises: UnknownStudy; UnknownName listing the study's batches.
    """
    study = find_study(options["study"])
    batch = study.batches.select_related("study", "system_a", "system_b").filter(name=options["batch"]).first()
    if batch is None:
        names = ", ".join(study.batches.values_list("name", flat=True)) or "none yet"
        raise UnknownName(f"study {study.slug} has no batch {options['batch']!r}; it has: {names}")
    return batch


def with_ids(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options with the ids of the file that `--select ids:FILE` names.

    Raises: CommandError when the file can't be read.
    """
    select = options["select"] or ""
    if not select.startswith("ids:"):
        return dict(options)
    data, _ = read_file(select.removeprefix("ids:"))
    return {**options, "select": "ids", "instance_ids": ids_of(data.decode("utf-8-sig", errors="replace"))}


def document(study: Study, batch: Batch, **more: Any) -> dict[str, Any]:
    """Return a batch as JSON."""
    hits = batch.hits.count()
    for_rating = batch.purpose == Batch.Purpose.RATING
    return {
        "study": study.slug,
        "batch": batch.name,
        "status": batch.status,
        "purpose": batch.purpose,
        "dataset": batch.dataset,
        "systems": [batch.system_a.name, batch.system_b.name],
        "hits": hits,
        "pairs_per_hit": batch.pairs_per_hit,
        "pairs": hits * batch.pairs_per_hit,
        "raters_per_hit": batch.raters_per_hit if for_rating else None,
        "ratings": hits * batch.pairs_per_hit * batch.raters_per_hit if for_rating else None,
        "seed": batch.seed,
        "selection": shown_selection(batch.selection),
        **more,
    }

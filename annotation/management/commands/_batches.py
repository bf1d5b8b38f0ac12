"""What the commands about batches share: which one, how instances are chosen, and how a batch is written as JSON."""

from argparse import ArgumentParser
from collections.abc import Mapping
from typing import Any

from annotation.errors import UnknownName
from annotation.management.commands._base import read_file
from annotation.models import Batch, Study
from annotation.services.choosing import Asked, ids_of
from annotation.services.studies import find_study

SELECT = "all, random:N, top:N, stratified:BxN, importance:N, or ids:FILE (one id a line)"


def add_batch(parser: ArgumentParser) -> None:
    """Declare study and batch."""
    parser.add_argument("study", metavar="STUDY")
    parser.add_argument("--batch", required=True, metavar="NAME")


def batch_of(options: Mapping[str, Any]) -> Batch:
    """Return the batch that the options name.

    Raises: UnknownStudy; UnknownName listing the study's batches.
    """
    study = find_study(options["study"])
    batch = study.batches.select_related("study", "system_a", "system_b").filter(name=options["batch"]).first()
    if batch is None:
        known = ", ".join(study.batches.values_list("name", flat=True)) or "none yet"
        raise UnknownName(f"study {study.slug} has no batch {options['batch']!r}; it has: {known}")
    return batch


def asked_of(select: str, similarity: str | None) -> Asked:
    """Read how instances are to be chosen, with the ids of a file.

    Raises: CommandError when the file can't be read.
    """
    if not select.startswith("ids:"):
        return Asked(select, (), similarity)
    data, _ = read_file(select.removeprefix("ids:"))
    return Asked("ids", ids_of(data.decode("utf-8-sig", errors="replace")), similarity)


def named(asked: Asked) -> dict[str, Any]:
    """Return a choice as the services take it."""
    return {"select": asked.spec, "instance_ids": asked.instance_ids, "similarity": asked.similarity}


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
        "selection": batch.selection,
        **more,
    }

"""The versions of a task's aspects: the current one, edited and distilled ones, and starting a distillation."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from hashlib import sha256
from typing import Any

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from annotation.core.database.bulk_sql import chunked
from annotation.core.errors import JobBusy
from annotation.core.version import VERSION
from annotation.jobs.work import is_taken
from annotation.models import Pair, ResearchGroup, Study
from annotation.questions.questions import MAIN
from judging.calls.dry_run import CallsEstimate, estimate_procedure
from judging.calls.presentations import IDENTITY_FIELDS, identity_of, wording_of
from judging.calls.requests import AdhocRequests
from judging.core.errors import BadSettings
from judging.jobs.bounds import set_bounds
from judging.methods.direct import LONGEST_ASPECT
from judging.methods.options import MOST_ASPECTS
from judging.methods.sc2.distilling import Distilling, Material, alike, distil, storable
from judging.methods.task_files import find_task, task_of
from judging.models import AspectSet, Distillation, Endpoint

PAIRS = 50  # default number to distil from, as in the paper
MOST_PAIRS = 10_000
DISTILLED, EDITED = "distilled", "edited"
# If these are equal and the result too, distilling again adds no version.
ORIGIN_FIELDS = ("how", "study", "endpoint", "model", "params", "prompts", "pairs", "pairs_hash", "seed")


def versions_of(study: Study) -> "QuerySet[AspectSet]":
    """Return the versions for a study's group and task, latest first."""
    return AspectSet.objects.filter(group=study.group, task=task_of(study.task_kind)).order_by("-version")


def latest_aspects(*, group: ResearchGroup, task: str) -> AspectSet | None:
    """Return a group's latest version of a task's aspects, or `None` where the task's own five are used."""
    return AspectSet.objects.filter(group=group, task=task).order_by("version").last()


def current_aspects(study: Study) -> tuple[list[str], str]:
    """Return the aspects used for a study's texts, and their name: of the latest version, or of the task."""
    task = task_of(study.task_kind)
    latest = latest_aspects(group=study.group, task=task)
    if latest is None:
        return list(find_task(task).aspects), f"{task} (built in)"
    return list(latest.aspects), str(latest)


@dataclass(frozen=True)
class PairSample:
    """Pairs drawn from a study, and their texts.

    identities : SHA-256 of the pairs' identities
    empty      : number of empty texts, left out
    """

    materials: list[Material]
    pairs: int
    identities: str
    empty: int


def sample_of(study: Study, *, pairs: int, seed: int) -> PairSample:
    """Draw pairs of a study by a seed. A larger sample contains the smaller ones.

    Raises: BadSettings for a study without pairs.
    """
    rows = Pair.objects.filter(matchup__instance__study=study).order_by().values_list("pk", *IDENTITY_FIELDS)
    names = {pk: identity_of(*fields) for pk, *fields in rows}
    drawn = sorted(names, key=lambda pk: _hash(f"aspects\x00{seed}\x00{names[pk]}"))[:pairs]
    if not drawn:
        raise BadSettings("The study has no pairs to distil aspects from.")
    fields = ("pk", "matchup__instance__source", "generation_a__text", "generation_b__text")
    sample: dict[int, list[Material]] = {}
    for part in chunked(drawn):
        for pk, source, *written in Pair.objects.filter(pk__in=part).order_by().values_list(*fields):
            sample[pk] = [Material(source, text) for text in written]
    texts = list(dict.fromkeys(material for pk in drawn for material in sample[pk]))
    filled = [material for material in texts if material.text.strip()]
    identities = _hash("\n".join(sorted(names[pk] for pk in drawn)))
    return PairSample(filled, len(drawn), identities, len(texts) - len(filled))


def _hash(text: str) -> str:
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def procedure_of(study: Study, sample: PairSample) -> Distilling:
    """Return the procedure that distils a sample's aspects."""
    return distil(sample.materials, task=task_of(study.task_kind), question=wording_of(study.questions[MAIN]))


def estimate_distilling(
    study: Study, *, endpoint: Endpoint, pairs: int = PAIRS, seed: int = 0, params: Mapping[str, Any] | None = None
) -> CallsEstimate:
    """Estimate what distilling would take.

    Raises: BadSettings
    """
    procedure = procedure_of(study, sample_of(study, pairs=pairs, seed=seed))
    return estimate_procedure(procedure, endpoint=endpoint, requests=AdhocRequests(endpoint, params=params))


def clean_aspects(aspects_given: Sequence[str]) -> list[str]:
    """Return aspects as they are stored: each on one line, stripped, without empty ones.

    Raises: BadSettings
    """
    aspects = [line for line in (" ".join(storable(aspect).split()) for aspect in aspects_given) if line]
    if not 1 <= len(aspects) <= MOST_ASPECTS:
        raise BadSettings(f"Give 1 to {MOST_ASPECTS} aspects, one a line; these are {len(aspects)}.")
    keys: set[str] = set()
    for aspect in aspects:
        if len(aspect) > LONGEST_ASPECT:
            raise BadSettings(
                f"An aspect has at most {LONGEST_ASPECT} characters; this one has {len(aspect)}: {aspect[:40]}…"
            )
        if alike(aspect) in keys:
            raise BadSettings(f"This aspect is given twice: {aspect}")
        keys.add(alike(aspect))
    return aspects


def edit_aspects(study: Study, *, aspects: Sequence[str], by: str, seen: int | None = None) -> tuple[AspectSet, bool]:
    """Store a list of aspects as the next version for a study's group and task. Return it and whether it is new.

    by   : the account's name, or another origin
    seen : the version that was edited, 0 for the task's own; refused if another was added since
    Raises: BadSettings
    """
    cleaned = clean_aspects(aspects)
    with transaction.atomic():
        latest = _locked_latest(study)
        before, name = current_aspects(study)
        if seen is not None and seen != (latest.version if latest else 0):
            raise BadSettings(
                f"The aspects were changed in the meantime: {name} is the current version. Read it, then save again."
            )
        if latest is not None and cleaned == before:
            return latest, False
        return _add_version(study, latest, cleaned, {"how": EDITED, "from": name, "by": by}), True


def store_distilled(study: Study, *, aspects: Sequence[str], made_by: Mapping[str, Any]) -> tuple[AspectSet, bool]:
    """Store distilled aspects as the next version, unless the latest has the same aspects and origin.

    Raises: BadSettings
    """
    cleaned = clean_aspects(aspects)
    with transaction.atomic():
        latest = _locked_latest(study)
        before = latest.made_by if latest and latest.aspects == cleaned else None
        if latest and before and all(before.get(name) == made_by.get(name) for name in ORIGIN_FIELDS):
            return latest, False
        return _add_version(study, latest, cleaned, made_by), True


def _locked_latest(study: Study) -> AspectSet | None:
    """Return the latest version, and lock the group's row, since version numbers are unique."""
    ResearchGroup.objects.select_for_update().get(pk=study.group_id)
    return latest_aspects(group=study.group, task=task_of(study.task_kind))


def _add_version(study: Study, latest: AspectSet | None, aspects: list[str], made_by: Mapping[str, Any]) -> AspectSet:
    version = {"task": task_of(study.task_kind), "version": latest.version + 1 if latest else 1}
    return AspectSet.objects.create(group=study.group, **version, aspects=aspects, made_by=dict(made_by))


@transaction.atomic
def start_distilling(
    study: Study,
    *,
    endpoint: Endpoint,
    pairs: int = PAIRS,
    seed: int = 0,
    params: Mapping[str, Any] | None = None,
    in_flight: int = 8,
    max_cost: Decimal | None = None,
    by: str = "",
) -> Distillation:
    """Return a study's distillation with these settings, in place of those of the last one.

    Raises: BadSettings for a cap that can't be enforced, a reserved parameter, or a study without pairs; JobBusy if one is
    queued or at work
    """
    AdhocRequests(endpoint, params=params)
    sample_of(study, pairs=pairs, seed=seed)
    Study.objects.select_for_update().get(pk=study.pk)
    last = Distillation.objects.filter(study=study).first()
    if last is not None and is_taken(last):
        raise JobBusy(f"aspects of {study} are being distilled already")
    settings = {"endpoint": endpoint, "pairs": pairs, "seed": seed, "params": dict(params or {}), "by": by[:150]}
    begun = {"found": {}, "created_at": timezone.now(), "software_version": VERSION}
    job, _ = Distillation.objects.update_or_create(study=study, defaults={**settings, **begun})
    set_bounds(job, in_flight=in_flight, max_cost=max_cost)
    return job


def as_dict(version: AspectSet) -> dict[str, Any]:
    """Return a version for JSON."""
    return {
        "name": str(version),
        "task": version.task,
        "version": version.version,
        "aspects": version.aspects,
        "made_by": version.made_by,
        "created_at": version.created_at.isoformat(),
    }


def origin_of(version: AspectSet) -> str:
    """Say in a line where a version comes from."""
    origin = version.made_by
    if origin.get("how") == "edited":
        return f"edited from {origin['from']} by {origin['by']}"
    if origin.get("how") == "distilled":
        lost = f", {origin['lost']} lost" if origin["lost"] else ""
        filled = f", {origin['filled']} filled in by frequency" if origin["filled"] else ""
        return (
            f"distilled by {origin['model']} at {origin['endpoint']} from {origin['pairs']} pairs of {origin['study']} "
            f"(seed {origin['seed']}; {origin['texts']} texts{lost}{filled})"
        )
    return "of unknown origin"

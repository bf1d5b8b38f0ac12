"""The smallest valid objects, made by the services that the program makes them with."""

import csv
import io
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from itertools import combinations
from typing import Any

from django.contrib.auth.models import User
from django.core.management import call_command
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from rest_framework.test import APIClient

from annotation.allocation.claims import claim_hit
from annotation.annotators.consent import answer_consent
from annotation.batches.sampling import BatchSpec, SelectionSpec
from annotation.batches.services import create_batch
from annotation.core.files.lines import FileData, refuse
from annotation.importing.content import store_instances
from annotation.importing.formats.study_file import InstanceRow, read_study_file
from annotation.members.accounts import annotator_for
from annotation.members.tokens import make_token
from annotation.models import (
    Annotator,
    Assignment,
    Batch,
    ComparisonTable,
    Generation,
    Instance,
    Matchup,
    Pair,
    RoleGrant,
    Study,
    System,
)
from annotation.models.members import Scope, main_group
from annotation.models.studies import TaskKind
from annotation.rating.votes import save_vote, submit_assignment
from annotation.studies.configurations import configuration

NOON = datetime(2024, 5, 1, 12, 0, tzinfo=UTC)


def instance_rows(
    *,
    instances: int = 3,
    k: int = 2,
    systems: Sequence[str] = ("alpha", "beta"),
    dataset: str = "news",
    prefix: str = "",
    source: str | None = None,
) -> list[InstanceRow]:
    """Instances as a study file would hold them; every text names the instance and a number, never its system."""
    names = [f"{prefix or dataset}-{number}" for number in range(1, instances + 1)]
    return [
        InstanceRow(
            number=line,
            instance_id=name,
            dataset=dataset,
            source=f"Source of {name}." if source is None else source,
            generations={
                system: [f"Text {place * k + index} on {name}." for index in range(k)]
                for place, system in enumerate(systems)
            },
        )
        for line, name in enumerate(names, start=1)
    ]


def make_study(
    slug: str = "study",
    *,
    instances: int = 3,
    k: int = 2,
    systems: Sequence[str] = ("alpha", "beta"),
    dataset: str = "news",
    task_kind: str = TaskKind.SUMMARIZATION,
    **settings: Any,
) -> Study:
    """Make a study with its systems, instances, generations, matchups and pairs."""
    study = Study.objects.create(
        slug=slug, **{"title": slug, "task_kind": task_kind, "group": main_group(), "auto_advance": False, **settings}
    )
    if instances:
        _store_first(study, instance_rows(instances=instances, k=k, systems=systems, dataset=dataset))
    return study


def _store_first(study: Study, rows: Sequence[InstanceRow]) -> None:
    """Store what `store_instances` would in an empty study, in a third of its time."""
    names = list(rows[0].generations)
    systems = System.objects.bulk_create(
        System(study=study, name=name, position=position) for position, name in enumerate(names)
    )
    instances = Instance.objects.bulk_create(
        Instance(study=study, instance_id=row.instance_id, dataset=row.dataset, source=row.source, position=position)
        for position, row in enumerate(rows)
    )
    stored = Generation.objects.bulk_create(
        Generation(instance=instance, system=system, index=index, text=text)
        for row, instance in zip(rows, instances, strict=True)
        for system in systems
        for index, text in enumerate(row.generations[system.name])
    )
    at = {(one.instance_id, one.system_id, one.index): one for one in stored}
    matchups = Matchup.objects.bulk_create(
        Matchup(instance=instance, system_a=a, system_b=b)
        for instance in instances
        for a, b in combinations(systems, 2)
    )
    Pair.objects.bulk_create(
        Pair(
            matchup=one,
            index=index,
            generation_a=at[one.instance_id, one.system_a_id, index],
            generation_b=at[one.instance_id, one.system_b_id, index],
        )
        for one in matchups
        for index in range(len(rows[0].generations[names[0]]))
    )


def add_instances(study: Study, rows: Sequence[InstanceRow] | None = None, **settings: Any) -> Study:
    """Add instances to a study: these rows, or those of `instance_rows`."""
    store_instances(study=study, rows=instance_rows(**settings) if rows is None else rows, name="rows")
    return study


def parse_study_file(data: FileData, name: str, **options: Any) -> list[InstanceRow]:
    """Return the instances of a study file, or refuse it."""
    rows, bad = read_study_file(data, name, **options)
    parsed = list(rows)
    refuse(name, bad)
    return parsed


def make_user(name: str, *roles: str, study: Study | None = None) -> User:
    """Make an account, which has no password, with roles in one study, or, without one, in the main group."""
    user = User.objects.create_user(name)
    if roles:
        group = None if study else main_group()
        RoleGrant.objects.bulk_create(RoleGrant(user=user, role=role, study=study, group=group) for role in roles)
    return user


def signed_in(who: Any, **settings: Any) -> Client:
    """Return a browser in which a user, or an annotator's, is signed in."""
    client = Client(**settings)
    client.force_login(
        who.user if isinstance(who, Annotator) else who, backend="annotation.members.signed_in.AccountBackend"
    )
    return client


def make_annotator(study: Study, name: str = "rater", *, consent: bool = True) -> Annotator:
    """Make an account with its place as an annotator of a study; it has given consent."""
    user = User.objects.filter(username=name).first() or make_user(name)
    RoleGrant.objects.get_or_create(user=user, role="annotator", study=study)
    annotator = annotator_for(user=user, study=study)
    if consent:
        answer_consent(annotator=annotator, accepted=True, at=NOON)
    return annotator


def make_batch(
    study: Study,
    *,
    name: str = "batch",
    pairs: int = 2,
    raters: int = 2,
    dataset: str = "news",
    systems: tuple[str, str] = ("alpha", "beta"),
    seed: int = 1,
    status: str = Batch.Status.OPEN,
    by: User | None = None,
    **settings: Any,
) -> Batch:
    """Publish instances of one configuration: all of them, unless told otherwise."""
    spec = batch_spec(study, dataset=dataset, systems=systems, pairs=pairs, raters=raters, seed=seed, **settings)
    return create_batch(spec=spec, name=name, status=status, by=by)[0]


def add_tables(
    study: Study,
    *variants: str,
    rows: Sequence[Mapping[str, str]] | Callable[[Pair], Sequence[Mapping[str, str]]] = (),
    pairs: Iterable[Pair] | None = None,
) -> None:
    """Give pairs, or all of a study's, a comparison table of each variant, by default of c8."""
    chosen = Pair.objects.filter(matchup__instance__study=study) if pairs is None else pairs
    ComparisonTable.objects.bulk_create(
        ComparisonTable(
            study=study,
            table_id=f"{variant}-{pair.pk}",
            pair=pair,
            variant=variant,
            rows=list(rows(pair) if callable(rows) else rows),
        )
        for pair in chosen
        for variant in variants or ("c8",)
    )


def batch_spec(
    study: Study,
    *,
    dataset: str = "news",
    systems: tuple[str, str] = ("alpha", "beta"),
    seed: int = 1,
    select: str = "all",
    instance_ids: Sequence[str] = (),
    similarity: str | None = None,
    **settings: Any,
) -> BatchSpec:
    """The specification of a batch."""
    selection = SelectionSpec(select, instance_ids, similarity)
    return BatchSpec(configuration(study, dataset=dataset, systems=systems), seed=seed, selection=selection, **settings)


def claim(annotator: Annotator, at: datetime = NOON) -> Assignment:
    """Claim the next HIT."""
    return claim_hit(annotator=annotator, at=at)


def keys_of(assignment: Assignment) -> list[str]:
    """Return the keys of a HIT's pairs in the order of the page."""
    return list(assignment.displays.order_by("position").values_list("pair__key", flat=True))


def rate(
    assignment: Assignment, choices: Sequence[str] | str = "left", *, at: datetime = NOON, submit: bool = True
) -> Assignment:
    """Vote on every pair of a HIT in the order of the page (one choice for all, or one each) and submit it."""
    keys = keys_of(assignment)
    wanted = [choices] * len(keys) if isinstance(choices, str) else choices
    for key, choice in zip(keys, wanted, strict=True):
        save_vote(assignment=assignment, pair_key=key, choice=choice, at=at)
    return submit_assignment(assignment=assignment, at=at) if submit else assignment


def queries_of(act: Callable[[], object]) -> int:
    """Count the statements that a call sends to the database; a page that it gets must be one without trouble."""
    with CaptureQueriesContext(connection) as captured:
        answer = act()
    assert getattr(answer, "status_code", 200) == 200
    return len(captured)


def output_of(*arguments: str) -> str:
    """Return what a command writes."""
    out = io.StringIO()
    call_command(*arguments, stdout=out, stderr=io.StringIO())
    return out.getvalue()


def json_lines(records: Iterable[Mapping[str, Any]]) -> bytes:
    """Write JSON Lines."""
    return "".join(json.dumps(record) + "\n" for record in records).encode()


def csv_file(rows: Sequence[Mapping[str, Any]], columns: Sequence[str] = ()) -> bytes:
    """Write CSV, with the columns of the first row unless told otherwise."""
    out = io.StringIO()
    writer = csv.DictWriter(out, columns or list(rows[0]))
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue().encode()


def study_line(instance_id: object = "i1", **changes: Any) -> dict[str, Any]:
    """Write one valid record of a study file; a change to None leaves a field out."""
    record = {"instance_id": instance_id, "source": "Source.", "generations": {"alpha": ["one"], "beta": ["two"]}}
    return {key: value for key, value in {**record, **changes}.items() if value is not None}


def mturk_row(
    worker: str = "W1",
    *,
    order: Sequence[object] = (1, 1),
    answers: Sequence[object] = (-1, 1),
    item: str = "x",
    **extra: Any,
) -> dict[str, Any]:
    """Write one row of MTurk results: `order` says which system wrote what was shown first, answers are the screen's."""
    row: dict[str, Any] = {"WorkerId": worker, **extra}
    for j, (first, answer) in enumerate(zip(order, answers, strict=True), start=1):
        texts = [f"{item}: text {j} of system 1", f"{item}: text {j} of system 2"]
        shown = texts if str(first) == "1" else texts[::-1]
        row |= {
            f"Input.model1_summary{j}": shown[0],
            f"Input.model2_summary{j}": shown[1],
            f"Input.id{j}": first,
            f"Answer.pref{j}": answer,
        }
    return row


def criterion(key: str, **changes: Any) -> dict[str, Any]:
    """Write a further question as studies store it."""
    plain = {"text": f"Which one has more {key}?", "description": "", "ties_allowed": True}
    return {"key": key, **plain, "strength": False, "tie_kinds": False, **changes}


def ask_more(study: Study, *further: str | Mapping[str, Any], **settings: Any) -> Study:
    """Let a study ask further questions, plain ones by their keys, and change its settings."""
    study.criteria = [criterion(one) if isinstance(one, str) else dict(one) for one in further]
    for name, value in settings.items():
        setattr(study, name, value)
    study.clean()
    study.save()
    return study


def token_of(user: Any, *scopes: str, **settings: Any) -> str:
    """Make a token of a user, with every scope unless some are named, and return its key."""
    return make_token(user=user, name="test", scopes=scopes or Scope.values, at=timezone.now(), **settings)[1]


def api_of(user: Any, **token: Any) -> APIClient:
    """Return a client of the API that has a token of a user."""
    client = APIClient()
    client.credentials(HTTP_AUTHORIZATION=f"Token {token_of(user, **token)}")
    return client

"""What becomes of a batch: drafts, launching, closing; more raters, more HITs; copies; and the commands for it."""

import json
from dataclasses import replace
from functools import partial
from typing import Any

import pytest
from django.core.management import CommandError

from annotation.batches.changes import copy_batch, extend_batch
from annotation.batches.forms import CreateBatch
from annotation.batches.sampling import SelectionSpec
from annotation.batches.services import create_batch, set_batch_status
from annotation.core.actions import filled
from annotation.core.errors import BadFields, ClaimRefused, InvalidSelection
from annotation.core.reasons import reason
from annotation.models import Assignment, Batch, Event, Hit, Slot, Study
from annotation.studies.configurations import configurations
from tests.annotation.allocation.test_races import together, work_through
from tests.annotation.batches.test_batches import chosen, layout, separate
from tests.factories import (
    NOON,
    add_instances,
    batch_spec,
    claim,
    make_annotator,
    make_batch,
    make_study,
    make_user,
    output_of,
    rate,
)

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


def events(batch: Batch) -> list[tuple[str, str, dict[str, Any]]]:
    return [(one.kind, one.reason, one.changes) for one in batch.events.order_by("pk")]


# Drafts, launching, closing


def test_a_draft_is_given_to_no_rater_until_it_is_launched() -> None:
    study = make_study()
    admin = make_user("admin", "study-admin", study=study)
    batch = make_batch(study, status="draft")
    annotator = make_annotator(study)

    with pytest.raises(ClaimRefused):
        claim(annotator)
    assert (batch.launched_at, events(batch)) == (None, [])
    set_batch_status(batch=batch, status="open", by=admin)

    assert claim(annotator).hit.batch == batch
    assert batch.launched_at is not None
    assert Event.objects.get().by == admin
    assert events(batch) == [("launched", "", {"status": ["draft", "open"]})]


def test_a_new_batch_is_open_or_a_draft() -> None:
    values = {"name": "b", "dataset": "news", "systems": ["alpha", "beta"], "status": "closed"}
    with pytest.raises(BadFields) as refused:
        filled(CreateBatch, values, study=make_study())
    assert refused.value.codes == {"status": ["invalid_choice"]}


@pytest.mark.engine
def test_each_step_is_logged_once_and_the_first_launch_stays() -> None:
    batch = make_batch(make_study())
    launched = batch.launched_at
    assert launched is not None

    for status in ("paused", "paused", "open", "closed", "open"):
        set_batch_status(batch=batch, status=status, reason=f"to {status}")

    batch.refresh_from_db()
    assert (batch.status, batch.launched_at, batch.closed_at) == ("open", launched, None)
    assert [(kind, reason) for kind, reason, _ in events(batch)] == [
        ("launched", ""),
        ("paused", "to paused"),
        ("launched", "to open"),
        ("closed", "to closed"),
        ("launched", "to open"),
    ]
    set_batch_status(batch=batch, status="closed")
    assert Batch.objects.get().closed_at is not None


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ("draft", "paused", "batch batch is draft; it can become open or closed, not paused"),
        ("open", "draft", "batch batch is open; it can become paused or closed, not draft"),
        ("closed", "paused", "batch batch is closed; it can become open, not paused"),
        ("open", "burnt", "not burnt"),
    ],
)
def test_a_step_that_there_is_not_is_refused(before: str, after: str, message: str) -> None:
    batch = make_batch(make_study())
    Batch.objects.update(status=before)

    with pytest.raises(InvalidSelection, match=message):
        set_batch_status(batch=batch, status=after)

    assert Batch.objects.get().status == before


def test_nothing_of_a_study_in_the_archive_is_made_launched_or_extended() -> None:
    study = make_study()
    batch = make_batch(study)
    set_batch_status(batch=batch, status="paused")
    Study.objects.update(archived_at=NOON)

    with pytest.raises(InvalidSelection, match="is archived"):
        make_batch(study, name="new")
    with pytest.raises(InvalidSelection, match="is archived"):
        set_batch_status(batch=batch, status="open")
    with pytest.raises(InvalidSelection, match="is archived"):
        extend_batch(batch=batch, more_raters=1, reason="x")
    assert set_batch_status(batch=batch, status="closed").status == "closed"


# More raters


@pytest.mark.engine
def test_more_raters_get_places_with_the_next_numbers_on_every_hit() -> None:
    study = make_study()
    batch = make_batch(study, raters=2)
    before = layout(batch)
    work = rate(claim(make_annotator(study)))

    done = extend_batch(batch=batch, more_raters=3, reason="Agreement is low.", known_raters=2, known_hits=3)

    assert done.raters_per_hit == Batch.objects.get().raters_per_hit == 5
    assert sorted(Slot.objects.filter(hit=work.hit).values_list("number", flat=True)) == [1, 2, 3, 4, 5]
    assert Slot.objects.count() == 15
    assert layout(done) == before
    assert Assignment.objects.counted().get() == work
    assert events(batch)[1:] == [("extended", "Agreement is low.", {"raters_per_hit": [2, 5]})]


@pytest.mark.engine
def test_the_request_that_made_a_batch_still_changes_nothing_after_an_extension() -> None:
    study = make_study(instances=4)
    spec = batch_spec(study, pairs=2, raters=2, select="random:2")
    batch, _ = create_batch(spec=spec, name="b", drawn=True)
    extend_batch(batch=batch, more_raters=1, selection=SelectionSpec("all"), reason="x")
    extend_batch(batch=batch, more_raters=1, reason="x")

    again, made = create_batch(spec=replace(spec, seed=2), name="b", drawn=True)

    assert (again.pk, made, again.raters_per_hit, again.hits.count()) == (batch.pk, False, 4, 4)
    with pytest.raises(InvalidSelection, match="with other settings"):
        create_batch(spec=replace(spec, raters=4), name="b", drawn=True)


# More HITs


@pytest.mark.engine
def test_further_instances_become_hits_after_those_that_are_there() -> None:
    study = make_study(instances=9, k=3)
    batch = make_batch(study, select="random:3", pairs=2, raters=2)
    before = layout(batch)

    extend_batch(
        batch=batch, selection=SelectionSpec("random:4"), seed=9, more_raters=1, reason="The interval is too wide."
    )

    assert layout(batch)[:3] == before
    assert sorted(batch.hits.values_list("position", flat=True)) == list(range(7))
    assert len(set(chosen(batch))) == 7
    assert all(hit.slots.count() == 3 and hit.pairs.count() == 2 for hit in batch.hits.all())
    batch.refresh_from_db()
    [extension] = batch.selection["extensions"]
    assert (extension["asked"]["spec"], extension["seed"], extension["from_position"], extension["pool"]) == (
        "random:4", 9, 3, 6,
    )  # fmt: skip
    assert extension["left_out"] == [{**reason("in_batch_already").stored(), "number": 3}]
    assert events(batch)[1:] == [("extended", "The interval is too wide.", {"raters_per_hit": [2, 3], "hits": [3, 7]})]


def test_the_same_seed_adds_the_same_hits() -> None:
    study = make_study(instances=12, k=4)
    one, other = (make_batch(study, name=name, select="random:3", seed=4) for name in ("one", "other"))

    for batch in (one, other):
        extend_batch(batch=batch, selection=SelectionSpec("random:5"), seed=7, reason="x")

    assert layout(one) == layout(other)


def test_an_importance_sample_grows_by_raters_only() -> None:
    study = make_study(instances=6)
    separate(study, [0.1, 0.2, 0.4, 0.6, 0.8, 1.0])
    drawn = make_batch(study, select="importance:3")
    plain = make_batch(study, name="plain", select="random:2")

    with pytest.raises(InvalidSelection, match="was drawn by importance"):
        extend_batch(batch=drawn, selection=SelectionSpec("random:1"), reason="x")
    with pytest.raises(InvalidSelection, match="a batch can't be extended by importance"):
        extend_batch(batch=plain, selection=SelectionSpec("importance:2"), reason="x")
    assert extend_batch(batch=drawn, more_raters=1, reason="x").raters_per_hit == 3
    assert Hit.objects.count() == 5


@pytest.mark.engine
def test_a_sample_by_strata_keeps_its_chances_and_what_is_added_has_none() -> None:
    study = make_study(instances=8)
    separate(study, [0.0, 0.1, 0.2, 0.25, 0.4, 0.8, 0.9, 1.0])  # [0, .5) holds five, [.5, 1] three
    drawn = make_batch(study, select="stratified:2x2")
    before = dict(drawn.hits.values_list("pk", "inclusion_probability"))
    assert sorted(before.values()) == pytest.approx([2 / 5, 2 / 5, 2 / 3, 2 / 3])

    extend_batch(batch=drawn, selection=SelectionSpec("stratified:2x1"), reason="x")

    assert dict(drawn.hits.filter(pk__in=before).values_list("pk", "inclusion_probability")) == before
    added = drawn.hits.exclude(pk__in=before)
    assert list(added.values_list("inclusion_probability", flat=True)) == [None, None]


@pytest.mark.engine
def test_checks_and_qualifications_grow_as_they_can() -> None:
    study = make_study(instances=4)
    study.instances.update(gold={"better": "alpha"})
    gold = make_batch(study, name="gold", purpose="gold", select="random:1")
    first = make_batch(study, name="first", purpose="qualification", select="random:1")

    with pytest.raises(InvalidSelection, match=r"goes to every rater \(gold\)"):
        extend_batch(batch=gold, more_raters=1, reason="x")
    with pytest.raises(InvalidSelection, match="is a qualification"):
        extend_batch(batch=first, selection=SelectionSpec("all"), reason="x")
    extend_batch(batch=gold, selection=SelectionSpec("random:2"), reason="x")
    assert (gold.hits.count(), Slot.objects.count()) == (3, 0)


@pytest.mark.parametrize(
    ("change", "asked", "error", "message"),
    [
        ({"status": "closed"}, {"more_raters": 1}, InvalidSelection, "batch batch is closed; open it again first"),
        ({"origin": "imported"}, {"more_raters": 1}, InvalidSelection, "were imported; it can't be extended here"),
        ({}, {}, InvalidSelection, "nothing to add"),
        ({}, {"more_raters": -1}, InvalidSelection, "-1 more raters per HIT; allowed are 1 to 998"),
        ({}, {"more_raters": 999}, InvalidSelection, "999 more raters per HIT; allowed are 1 to 998"),
        ({}, {"selection": SelectionSpec()}, InvalidSelection, "can be rated: 3 in the batch already"),
        ({}, {"selection": SelectionSpec("best")}, InvalidSelection, "selection is 'best'"),
        ({}, {"more_raters": 1, "known_raters": 1}, InvalidSelection, "it has 2 raters per HIT, not 1"),
        ({}, {"more_raters": 1, "known_hits": 2}, InvalidSelection, "extended meanwhile: it has 3 HITs, not 2"),
    ],
    ids=str,
)
def test_an_extension_that_cannot_be_is_refused_whole(
    change: dict[str, str], asked: dict[str, Any], error: type[Exception], message: str
) -> None:
    batch = make_batch(make_study())
    Batch.objects.update(**change)

    with pytest.raises(error, match=message):
        extend_batch(batch=batch, **{"reason": "x", **asked})

    assert (Slot.objects.count(), Hit.objects.count(), Batch.objects.get().raters_per_hit) == (6, 3, 2)
    assert [kind for kind, _, _ in events(batch)] == ["launched"]


@pytest.mark.django_db(transaction=True)
@pytest.mark.engine
def test_a_batch_grows_while_raters_claim() -> None:
    study = make_study(instances=6, k=2)
    batch = make_batch(study, select="random:4", pairs=1, raters=1)
    annotators = [make_annotator(study, f"r{number}") for number in range(3)]
    grown, *_rated = together(
        [
            lambda: extend_batch(batch=batch, more_raters=1, selection=SelectionSpec("all"), reason="x"),
            *(partial(work_through, annotator) for annotator in annotators),
        ]
    )

    assert isinstance(grown, Batch)
    for annotator in annotators:
        work_through(annotator)
    filled = [hit.slots.exclude(assignment=None).count() for hit in batch.hits.all()]
    assert filled == [2] * 6
    assert Assignment.objects.counted().count() == 12


# Copies


def test_a_copy_is_a_draft_with_the_same_settings_and_another_draw() -> None:
    study = make_study(instances=20, k=2)
    batch = make_batch(
        study, pairs=1, raters=2, select="random:5", seed=3, repeat_rate=0.1, lease_minutes=9, most_hits_per_rater=4
    )

    copy, made = copy_batch(batch=batch, name="copy", seed=4)

    assert made
    kept = ("dataset", "system_a", "system_b", "pairs_per_hit", "raters_per_hit", "repeat_rate", "lease_minutes")
    assert all(getattr(copy, name) == getattr(batch, name) for name in (*kept, "most_hits_per_rater", "purpose"))
    assert (copy.status, copy.seed, copy.selection["spec"]) == ("draft", 4, "random:5")
    assert chosen(copy) != chosen(batch)
    assert copy_batch(batch=batch, name="copy") == (copy, False)


def test_a_copy_may_be_of_another_configuration() -> None:
    study = make_study(instances=4)
    add_instances(study, dataset="talk", instances=3, systems=("alpha", "gamma"))
    batch = make_batch(study, select="random:2")
    found = next(one for one in configurations(study) if one.dataset == "talk")

    copy, _ = copy_batch(batch=batch, name="talk", configuration=found, status="open")

    assert (copy.dataset, copy.system_b.name, copy.status, copy.hits.count()) == ("talk", "gamma", "open", 2)


def test_imported_ratings_are_no_pattern() -> None:
    batch = make_batch(make_study())
    Batch.objects.update(origin="imported")
    batch.refresh_from_db()

    with pytest.raises(InvalidSelection, match="there is nothing to copy"):
        copy_batch(batch=batch, name="copy")
    with pytest.raises(InvalidSelection, match="ratings of batch batch were imported"):
        set_batch_status(batch=batch, status="open")


# Commands


def test_commands_make_launch_extend_copy_and_close(tmp_path: Any) -> None:
    make_study(instances=8, k=3, pairs_per_hit=3, raters_per_hit=2)

    made = json.loads(
        output_of(
            *("create_batch", "study", "--name", "b", "--dataset", "news", "--systems", "alpha", "beta"),
            *("--select", "random:3", "--seed", "1", "--draft", "--max-hits-per-rater", "2", "--format", "json"),
        )
    )
    assert (made["made"], made["status"], made["hits"], made["pairs"], made["ratings"]) == (True, "draft", 3, 9, 18)
    batch = Batch.objects.get()
    assert batch.most_hits_per_rater == 2
    assert output_of("set_batch", "study", "--batch", "b", "--status", "open") == "batch b: open (was draft)\n"
    assert "nothing was changed" in output_of("set_batch", "study", "--batch", "b", "--status", "open")

    taken = set(chosen(batch))
    others = sorted({f"news-{number}" for number in range(1, 9)} - taken)[:2]
    ids = tmp_path / "ids.txt"
    ids.write_text("\ufeff" + "\r\n\n".join(others), encoding="utf-8")
    told = output_of("extend_batch", "study", "--batch", "b", "--raters", "+2", "--reason", "More power.")
    assert told == "batch b: 3 HITs, 0 of them new, for 4 raters each\n"
    output_of("extend_batch", "study", "--batch", "b", "--select", f"ids:{ids}", "--reason", "These too.")
    assert set(chosen(batch)) == taken | set(others)
    copied = json.loads(
        output_of("copy_batch", "study", "--batch", "b", "--to", "c", "--seed", "2", "--format", "json")
    )
    assert (copied["made"], copied["status"], copied["hits"], copied["raters_per_hit"]) == (True, "draft", 3, 4)
    assert output_of("set_batch", "study", "--batch", "c", "--status", "closed") == "batch c: closed (was draft)\n"
    told = output_of("create_batch", "study", "--name", "d", "--dataset", "news", "--systems", "alpha", "beta")
    assert told.startswith("batch d: 8 HITs of 3 pairs for 2 raters each = 48 ratings (seed ")


def test_an_unknown_batch_is_named_with_those_that_are_there() -> None:
    make_batch(make_study(), name="main")

    for command in (["set_batch", "--status", "open"], ["extend_batch", "--reason", "x"], ["copy_batch", "--to", "x"]):
        with pytest.raises(CommandError, match="study study has no batch 'no'; it has: main"):
            output_of(command[0], "study", "--batch", "no", *command[1:])

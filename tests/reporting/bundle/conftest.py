"""A study with something of everything that findings depend on, and its bundle."""

import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone

from annotation.models import (
    Annotator,
    ArmDraw,
    Assignment,
    Batch,
    ComparisonTable,
    Display,
    Instance,
    Pair,
    Rating,
    Study,
)
from annotation.questions.questions import Answer
from annotation.studies.log import log
from judging.models import (
    Completion,
    Endpoint,
    GenerationRun,
    Judge,
    JudgeRun,
    Judgment,
    PromptFile,
    RationaleMark,
    TableCheck,
    TableMaking,
)
from reporting.bundle import exporting, verifying
from reporting.bundle.exporting import export_bundle
from reporting.bundle.layout import EVERYTHING, Contents
from reporting.bundle.verifying import compare_elsewhere
from reporting.exports.folders import sha256_of
from tests.factories import ask_more, criterion
from tests.reporting.builders import (
    Built,
    answer_too,
    build_batch,
    build_configuration,
    build_study,
    judge,
    rate,
    separate,
)
from tests.whole_study import build_whole_study

PEOPLE = ("ann", "bob", "cem", "dia")
RULES = ("majority", "weighted", "dawid-skene")
AGAIN = ((1, False), (2, False), (0, True))  # how often a judge was asked before, and whether by the negated question


def build_small(slug: str = "small") -> Study:
    """Make one configuration from one seed, on two questions: gaps, checks, exclusions, withdrawals, judges of every kind."""
    draw = Random(7)
    study = build_study(slug)
    ask_more(study, criterion("fluency", strength=True, tie_kinds=True))
    study.protocol, study.arms = "two-stage", ["none", "table:c8"]
    study.save()
    built = build_configuration(study, instances=4, pairs=3)
    _rate(built, draw)
    _check(built)
    measures: list[dict[str, Any]] = [{}, {"samples": 2, "seed": 3}]
    for measure in measures:
        values = [round(draw.random(), 3) for _ in built.matchups]
        separate(built, [(draw.random(), draw.random(), draw.random()) for _ in values], values, **measure)
    _judged([built], draw)
    twice, pairs = _latest_run("twice"), [pair for pairs in built.pairs for pair in pairs]
    _answered([(twice, pair, *more, order) for pair in pairs for more in AGAIN for order in ("ab", "ba")], Random(9))
    _spent_and_marked(study, Random(8))
    Instance.objects.filter(study=study, position__in=[0, 2]).update(
        gold={"better": "first-system", "why": "clear"}, metadata={"tags": ["hard", "old"], "note": "metadata 0"}
    )
    _decided_again(built)
    _shown_tables(replace(built, pairs=built.pairs[:2]), Random(8))
    _forget_sides(study)
    log(study=study, kind="rejected", assignment=Assignment.objects.filter(excluded=True).first(), reason="too fast")
    return study


def _forget_sides(study: Study) -> None:
    """Leave open what some people were shown first, as an imported file may."""
    shown = Display.objects.filter(assignment__hit__batch__study=study).order_by("pk").values_list("pk", flat=True)
    Display.objects.filter(pk__in=list(shown)[::5]).update(a_is_left=None)


def _rate(built: Built, draw: Random) -> None:
    """Let people rate: some leave pairs out, return HITs, are surplus or excluded; one has withdrawn, one is a program."""
    for place in range(len(built.matchups) - 1):
        for code in (*PEOPLE, "program", "gone", "out"):
            if draw.random() < 0.3:
                continue
            verdicts = [draw.choice([-1, 0, 1, None]) for _ in built.pairs[place]]
            made = rate(
                built,
                place,
                code,
                verdicts,
                a_is_left=[draw.random() < 0.5 for _ in verdicts],
                kind="scripted" if code == "program" else "imported",
                state=draw.choice(["submitted"] * 6 + ["returned"]),
                fills_slot=draw.random() < 0.9,
                active_seconds=round(draw.random() * 60, 2),
                reason="as I see it",
            )
            kinds = [
                Answer(0, tie_kind="good"),
                Answer(0, tie_kind="bad"),
                Answer(-1, 2),
                Answer(1, 1),
                Answer(1),
                None,
            ]
            answers = [draw.choice(kinds) for _ in verdicts]
            answer_too(made, answers)
            for display in made.displays.all()[:2]:
                Rating.objects.create(display=display, stage="revised", verdict=draw.choice([-1, 0, 1]), arm="none")
    Annotator.objects.filter(study=built.study, code="gone").update(withdrawn_at=timezone.now())
    Annotator.objects.filter(study=built.study, code="out").update(excluded=True, exclusion_reason="by hand")
    Assignment.objects.filter(pk=Assignment.objects.filter(annotator__code="ann").earliest("pk").pk).update(
        excluded=True
    )


def _check(built: Built) -> None:
    """Give two people hidden checks: a gold HIT, and the repeat of one."""
    gold = build_batch(
        built.study,
        built.dataset,
        built.system_a,
        built.system_b,
        built.matchups[-1:],
        built.pairs[-1:],
        name=f"{built.dataset}-gold",
    )
    Batch.objects.filter(pk=gold.batch.pk).update(purpose="gold")
    Instance.objects.filter(matchups=built.matchups[-1]).update(
        gold={"scores": {"first-system": 1, "second-system": 0}}
    )
    for code in PEOPLE[:2]:
        made = rate(gold, 0, code, [-1, 1, None], fills_slot=False)
        Assignment.objects.filter(pk=made.pk).update(purpose="gold")
        earlier = Assignment.objects.filter(annotator__code=code, hit__batch=built.batch, state="submitted").first()
        assert earlier is not None
        again = Assignment.objects.create(
            hit=earlier.hit,
            annotator=earlier.annotator,
            attempt=2,
            purpose="repeat",
            repeat_of=earlier,
            state="submitted",
        )
        for display in earlier.displays.all():
            shown = again.displays.create(pair=display.pair, position=display.position, a_is_left=not display.a_is_left)
            Rating.objects.create(display=shown, verdict=1)


def _decided_again(built: Built) -> None:
    """Let a person vote twice on a pair of another batch too, and twice on a hidden check."""
    again = build_batch(
        built.study, built.dataset, built.system_a, built.system_b, built.matchups[:2], built.pairs[:2], name="again"
    )
    for place in range(2):
        rate(again, place, "bob", [1, -1, 0], active_seconds=7.5)
    checks = Assignment.objects.filter(hit__batch__study=built.study).exclude(purpose="rating")
    for made in (*Assignment.objects.filter(hit__batch=again.batch), *checks):
        for display in made.displays.all()[1:]:
            Rating.objects.create(display=display, stage="revised", verdict=1)


def _shown_tables(built: Built, draw: Random) -> None:
    """Show judges' tables in one arm, of two that raters are in, with a reason where one is given."""
    Assignment.objects.filter(hit__batch__study=built.study).update(arm="none")
    tables = {}
    for place, pair in enumerate(pair for pairs in built.pairs for pair in pairs):
        tables[pair.pk] = ComparisonTable.objects.create(
            study=built.study, table_id=f"c8-{place}", pair=pair, variant="c8", rows=[{"aspect": "text 0 and more"}]
        )
    for cell in Judgment.objects.for_question(0).filter(run__judge__name="plain", pair__in=tables).order_by("pk"):
        table = tables[cell.pair_id] if draw.random() < 0.9 else None
        TableMaking.objects.create(judgment=cell, table=table, record={"samples": ["[[A]] since it has text 0"]})
    for second in Rating.objects.for_question(0).filter(stage="revised", table=None).order_by("pk"):
        second.active_seconds = draw.choice([None, round(draw.random() * 30, 2)])
        second.reason = draw.choice(["", "as I see it now"])
        second.arm = draw.choice(["", "none", "table:c8"])
        second.table = tables.get(second.display.pair_id) if second.arm == "table:c8" else None
        second.save()


def _judged(everything: list[Built], draw: Random) -> None:
    answers: list[int | str] = [-1, -1, 0, 1, "unparsed", "refused", "error", "pending"]
    for name, order in (("plain", "random"), ("twice", "both"), ("likely", "both")):
        for built in everything:
            cells = [
                (place, pair, shown, draw.choice(answers))
                for place, pairs in enumerate(built.pairs)
                for pair in range(len(pairs))
                for shown in (("ab", "ba") if order == "both" else (draw.choice(["ab", "ba"]),))
                if draw.random() < 0.9
            ]
            run = judge(built, name, cells, order=order)
    for rule in RULES:
        jury = Judge.objects.create(
            name=f"jury-{rule}", method="jury", params={"members": ["plain", "twice", "likely"], "rule": rule}
        )
        JudgeRun.objects.create(study=run.study, judge=jury, status="done")
    Judge.objects.filter(name="twice").update(tuned={"instances": [["news", "news-3"]]})
    tried = judge(everything[0], "tried", [(0, 0, "ab", 1)])
    Judge.objects.filter(pk=tried.judge_id).update(tuned={"candidate_of": "twice"})
    Judge.objects.filter(name="likely").update(combine="probability", family="third")
    for cell in Judgment.objects.filter(run__judge__name="likely", status="parsed"):
        Judgment.objects.filter(pk=cell.pk).update(p_b=draw.random(), rationale="since B says more")
    questions = list(range(len(run.study.questions)))
    later = JudgeRun.objects.create(
        study=run.study,
        judge=Judge.objects.get(name="plain"),
        filter_key="x",
        questions=questions,
        created_at=timezone.now() + timedelta(minutes=1),
    )
    for pair in everything[0].pairs[0]:
        for question in questions:
            cell = Judgment.objects.create(
                run=later, pair=pair, order="ab", question=question, status="parsed", verdict=draw.choice([-1, 1])
            )
    cell.completions.add(Completion.objects.create(base_url="https://m.example", request={"q": 1}, text="[[A]]"))


def _latest_run(name: str) -> JudgeRun:
    return JudgeRun.objects.filter(judge__name=name).latest("created_at")


def _answered(asked: list[tuple[JudgeRun, Pair, int, bool, str]], draw: Random) -> None:
    """Store verdicts on most of what a run asked: a pair, how often before, by the negated question or not, in an order."""
    Judgment.objects.bulk_create(
        Judgment(
            run=run,
            pair=pair,
            order=order,
            repeat=repeat,
            negated=negated,
            status="parsed",
            verdict=draw.choice([-1, 0, 1, 1]),
        )
        for run, pair, repeat, negated, order in asked
        if draw.random() < 0.8
    )


def _spent_and_marked(study: Study, draw: Random) -> None:
    """Let verdicts take answers that are new, stored, shared or refused, two readers mark rationales, and judges differ in wording."""
    answers = Completion.objects.bulk_create(
        Completion(
            cache_key=None if number == 3 else f"key {number}",
            base_url="https://m.example",
            request={"q": f"prompt {number}"},
            text=f"answer {number}",
            kind=("verdict", "critique")[number % 2],
            prompt_tokens=None if number == 4 else 100 + number,
            completion_tokens=None if number in (4, 5) else 10 + number,
            latency_ms=number / 4,
            expected_prompt_tokens=None if number == 6 else 90 + 60 * number,
            served_model=("m-1-2026", "m-2", "")[number % 3],
            fingerprint=f"fp_{number % 2}",
            provider="Alpha" if number else "",
            list_price=Decimal("0.25") if number == 7 else None,
        )
        for number in range(9)
    )
    endpoint = Endpoint.objects.create(name="m", base_url="https://m.example", model="m-1")
    Judge.objects.filter(name__in=["plain", "twice"]).update(endpoint=endpoint)
    Judge.objects.filter(name="twice").update(task="summarization")
    Judge.objects.filter(name="likely").update(method="imported", params={"label": "The likely one"})
    readers = [User.objects.create_user(f"reader{number}") for number in range(2)]
    asked = Judgment.objects.filter(run__study=study).exclude(status="pending")
    cells, links, marks = list(asked.order_by("pk").select_related("run__judge")), [], []
    for cell in cells:
        judge = cell.run.judge.name
        cell.calls = draw.choice([0, 2]) if judge == "likely" else draw.choice([1, 2, 3])
        cell.cached = draw.randint(0, cell.calls)
        if cell.calls > cell.cached:
            cell.prompt_tokens = draw.choice([70, 71] if judge == "plain" else [None, 70])
            cell.completion_tokens = draw.choice([None, 7])
        if judge != "likely" and draw.random() < 0.8:
            taken = draw.sample(answers, cell.calls)
            links += [Judgment.completions.through(judgment=cell, completion=one) for one in taken]
        for reader in readers:
            if draw.random() < 0.4:
                mark = RationaleMark(judgment=cell, marker=reader, sound=draw.random() < 0.6, note="marked so")
                marks.append(mark)
    asked.bulk_update(cells, ["calls", "cached", "prompt_tokens", "completion_tokens"])
    Judgment.completions.through.objects.bulk_create(links)
    RationaleMark.objects.bulk_create(marks)


@pytest.fixture(scope="package", autouse=True)
def _each_bundle_compared_once() -> Iterator[None]:
    """Start no other process for a bundle that was compared before, byte for byte."""
    compared: dict[tuple[object, ...], int] = {}

    def compare_once(folder: Path) -> int:
        files = sorted(path for path in folder.rglob("*") if path.is_file())
        key = tuple((path.relative_to(folder), sha256_of(path)) for path in files)
        if key not in compared:
            compared[key] = compare_elsewhere(folder)
        return compared[key]

    with pytest.MonkeyPatch.context() as patch:
        for module in (exporting, verifying):
            patch.setattr(module, "compare_elsewhere", compare_once)
        yield


@pytest.fixture(scope="module")
def small(module_rows: None) -> Study:
    return build_small()


def written(store: Callable[[], Study], folder: Path, contents: Contents = EVERYTHING) -> Path:
    """Write the bundle of a study that is gone afterwards: the database is as empty as before."""
    with transaction.atomic():
        export_bundle(store(), folder, contents)
        transaction.set_rollback(True)
    return folder


@pytest.fixture(scope="module")
def small_bundle(module_rows: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return written(build_small, tmp_path_factory.mktemp("bundles") / "small")


@pytest.fixture(scope="module")
def bare_bundle(module_rows: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return written(build_small, tmp_path_factory.mktemp("bundles") / "bare", Contents(texts=False))


@pytest.fixture(scope="module")
def whole_bundle(module_rows: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The bundle of a study with a row of every kind."""
    return written(_build_whole, tmp_path_factory.mktemp("bundles") / "acme")


def _build_whole() -> Study:
    study, endpoint = build_whole_study("acme").study, Endpoint.objects.earliest("pk")
    GenerationRun.objects.create(study=study, endpoint=endpoint, name="sampled", samples=1, seed=1)
    TableCheck.objects.create(table=study.tables.earliest("pk"), endpoint=endpoint, model="small", found={})
    RationaleMark.objects.create(judgment=Judgment.objects.earliest("pk"), sound=True)
    own = PromptFile.objects.create(name="own", text="Which one?", parser="letter")
    Judge.objects.filter(runs__study=study).update(prompt_file=own)
    ArmDraw.objects.create(study=study, number=0, instance=study.instances.earliest("pk"), arm="none")
    return study


@pytest.fixture
def copy(small_bundle: Path, tmp_path: Path) -> Path:
    return shutil.copytree(small_bundle, tmp_path / "copy")

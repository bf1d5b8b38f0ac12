"""Importing judgments made elsewhere into a study."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import transaction
from django.utils import timezone

from annotation.core.counting import number_of
from annotation.core.errors import BadLine
from annotation.core.files.lines import FileData, refuse
from annotation.core.files.mapping import NOTHING, FieldMapping, in_own_columns, recorded
from annotation.core.names import lookalikes, short_name_problem
from annotation.core.reasons import Reason, reason
from annotation.core.refusals import refusal
from annotation.core.version import VERSION
from annotation.importing.staging import PART, Level, Target, open_import
from annotation.models import Study
from judging.importing.fields import LONGEST_NAME, JudgmentRow, judge_name
from judging.importing.judgments import JudgmentFile, parse_judgments
from judging.importing.pairs import ResolvedRow, Resolver
from judging.methods.imported import Imported
from judging.models import Completion, Judge, JudgeRun, Judgment

IMPORTED = "-imported"  # ends the name of a judge from a file whose own name a judge has that is run here
_WHOLE = {"batch": None, "filter_key": ""}  # of runs on all pairs
LEVELS = (
    Level(JudgeRun, "study", ("judge_id", "batch_id", "filter_key", "questions")),
    Level(Judgment, "run", ("pair_id", "order", "repeat", "negated", "question")),
)
Runs = dict[tuple[str, int], JudgeRun]  # by a judge's label in the file, and question


@dataclass(frozen=True)
class ImportedJudgments:
    """The result of an import: judgments added, and those already stored.

    judges : name of each judge → its label in the file
    unread : unknown columns of the file
    """

    added: int
    unchanged: int
    judges: dict[str, str]
    unread: list[str]

    @property
    def counts(self) -> dict[str, int]:
        """The counts."""
        return {"added": self.added, "unchanged": self.unchanged, "judges": len(self.judges)}


@in_own_columns
def import_judgments(
    *, data: FileData, name: str, slug: str, judge: str = "", mapping: FieldMapping = NOTHING
) -> tuple[Study, ImportedJudgments]:
    """Import a file of judgments on a study's pairs, whole or not at all. `judge` gave votes that name none.

    Judgments that are already stored must agree. Each judge of the file gets a run on the study for each question that it
    answers, which is done.
    Raises: BadFile listing every line that can't be imported; UnknownStudy.
    """
    file = parse_judgments(data, name, judge, mapping)
    with open_import(slug, rows=len(file.rows)) as target:
        stored = stage_judgments(target, file, data, name, **recorded(mapping))
    return target.study, stored


def stage_judgments(target: Target, file: JudgmentFile, data: FileData, name: str, **options: Any) -> ImportedJudgments:
    """Add the judgments of a file to the target of an import. `options` are recorded with it.

    Raises: BadFile listing every line that can't be imported.
    """
    resolved, unknown = Resolver(target).resolve(file.rows)
    judges, names = _judges(target.study, file.rows)
    stored_runs = _stored_runs(target.study, judges)
    fresh, contradictions = _fresh(stored_runs, judges, resolved)
    refuse(name, [*file.bad, *unknown, *names, *contradictions])  # report all problems at once
    if fresh:
        _store(target, judges, stored_runs, fresh)
    stored = ImportedJudgments(
        added=len(fresh),
        unchanged=len(file.rows) - len(fresh),
        judges={judge.name: label for label, judge in sorted(judges.items())},
        unread=file.unread,
    )
    if fresh:
        target.record(kind="judgments", name=name, data=data, counts=stored.counts, **options)
    return stored


def import_upload(
    *, data: FileData, name: str, slug: str, mapping: FieldMapping = NOTHING, **_of_other_kinds: Any
) -> tuple[Study, Reason]:
    """Import an uploaded file, whose rows name their judges. Return the study and one line on what was added."""
    study, stored = import_judgments(data=data, name=name, slug=slug, mapping=mapping)
    if not stored.added:
        return study, reason("nothing_new_in", name=name, study=study.slug)
    contents = f"{number_of(stored.added, 'judgment')} by {', '.join(stored.judges)}"
    summary = reason("imported", name=name, contents=contents)
    if stored.unread:
        summary = reason("columns_ignored", summary=summary, columns=", ".join(stored.unread))
    return study, summary


def _names(study: Study, labels: Sequence[str]) -> dict[str, str]:
    """Return the name of each judge by its label in a file: another one where a judge of this name judges only other studies here."""
    names = {label: judge_name(label) for label in labels}
    made_here = Judge.objects.filter(name__in=names.values()).exclude(method=Imported.name)
    elsewhere = set(made_here.exclude(runs__study=study).values_list("name", flat=True))
    return {
        label: f"{name[: LONGEST_NAME - len(IMPORTED)]}{IMPORTED}" if name in elsewhere else name
        for label, name in names.items()
    }


def _judges(study: Study, rows: Sequence[JudgmentRow]) -> tuple[dict[str, Judge], list[BadLine]]:
    """Return each judge in the file by its label, unsaved if new, and the first line of each refused judge."""
    labels = list(dict.fromkeys(row.judge for row in rows))
    name_of = _names(study, labels)
    judges = Judge.objects.filter(name__in=name_of.values())
    existing = {judge.name: judge for judge in judges}
    refused: dict[str, Reason] = {}
    by_name: dict[str, str] = {}
    families = _families(rows)
    for label in labels:
        other_label = by_name.setdefault(name_of[label], label)
        if other_label != label:
            refused[label] = refusal(
                "judges_of_one_name", other=repr(other_label), judge=repr(label), name=name_of[label]
            )
        elif len(families[label]) > 1:
            refused[label] = refusal(
                "several_families",
                judge=repr(label),
                families=", ".join(family or "none" for family in families[label]),
            )
        elif problem := _taken(existing.get(name_of[label]), label, *families[label]):
            refused[label] = problem
    names = {name_of[label]: label for label in labels}
    for name, other_label in lookalikes(names, existing).items():
        refused[names[name]] = refusal("judge_lookalike", judge=name, other=other_label)
    for label in labels:
        name = name_of[label]
        if name not in existing and (similar := short_name_problem(Judge, "name", name)):
            refused[label] = refusal("judge_near_other", problem=similar)
    first = {row.judge: row.number for row in reversed(rows)}
    bad = [BadLine(first[label], problem) for label, problem in refused.items()]
    judges_by_label = {
        label: existing.get(name_of[label]) or _judge(label, name_of[label], *families[label])
        for label in labels
        if label not in refused
    }
    return judges_by_label, bad


def _families(rows: Sequence[JudgmentRow]) -> dict[str, list[str]]:
    result: dict[str, set[str]] = {}
    for row in rows:
        result.setdefault(row.judge, set()).add(row.family)
    return {label: sorted(families) for label, families in result.items()}


def _taken(judge: Judge | None, label: str, family: str) -> Reason | None:
    """Return why the verdicts can't be added to a stored judge, or None if they can."""
    if judge is None:
        return None
    if judge.method != Imported.name:
        return refusal("judge_made_here", judge=judge.name, method=judge.method)
    if judge.params.get("label", judge.name) != label:
        return refusal(
            "judge_of_other_label",
            judge=judge.name,
            stored=repr(judge.params.get("label", judge.name)),
            label=repr(label),
        )
    if family and family != judge.family:
        return refusal("judge_of_other_family", judge=judge.name, stored=judge.family or "none", family=family)
    return None


def _judge(label: str, name: str, family: str) -> Judge:
    return Judge(name=name, method=Imported.name, family=family, params={} if name == label else {"label": label})


def _stored_runs(study: Study, judges: Mapping[str, Judge]) -> Runs:
    """Return the study's runs of imported judgments by judge's label and question."""
    stored = JudgeRun.objects.filter(study=study, judge__in=[judge for judge in judges.values() if judge.pk], **_WHOLE)
    by_judge = {(run.judge_id, tuple(run.questions)): run for run in stored}
    return {
        (label, question): run
        for (judge_id, questions), run in by_judge.items()
        for label, judge in judges.items()
        if judge.pk == judge_id
        for question in questions
        if len(questions) == 1
    }


def _fresh(
    runs: Runs, judges: Mapping[str, Judge], resolved: Sequence[ResolvedRow]
) -> tuple[list[ResolvedRow], list[BadLine]]:
    """Return the rows of new judgments, and the lines that contradict stored ones."""
    stored = {
        (run_id, pair_id, order, repeat, negated): statement
        for run_id, pair_id, order, repeat, negated, *statement in Judgment.objects.filter(
            run__in=list(runs.values())
        ).values_list("run_id", "pair_id", "order", "repeat", "negated", "status", "verdict", "rationale")
    }
    fresh, bad = [], []
    for row in (item for item in resolved if item.row.judge in judges):
        run = runs.get((row.row.judge, row.question))
        key = (row.pair_id, row.order, row.row.repeat, row.row.negated)
        stored_row = stored.get((run.pk, *key)) if run else None
        if stored_row is None:
            fresh.append(row)
        elif stored_row != [_status(row), row.verdict, row.row.rationale]:
            bad.append(BadLine(row.row.number, _contradiction(row, stored_row)))
    return fresh, bad


def _store(target: Target, judges: Mapping[str, Judge], stored_runs: Runs, fresh: Sequence[ResolvedRow]) -> None:
    """Store judgments, with the judges and runs that are missing."""
    questions = sorted({(item.row.judge, item.question) for item in fresh})
    now = timezone.now()
    with transaction.atomic():
        for judge in {label: judges[label] for label, _ in questions}.values():
            if judge._state.adding:
                judge.save()
        runs = {(label, question): _run(target, judges[label], question, now) for label, question in questions}
    target.create(_judgment(item, runs[item.row.judge, item.question], now) for item in fresh)

    def complete() -> None:
        for run in (stored_runs[key] for key in questions if key in stored_runs):
            run.status, run.software_version, run.finished_at = JudgeRun.Status.DONE, VERSION, now
            run.started_at = run.started_at or now
            run.save(update_fields=["status", "software_version", "finished_at", "started_at"])

    target.later(complete)


def _run(target: Target, judge: Judge, question: int, at: datetime) -> JudgeRun:
    more = {"status": JudgeRun.Status.DONE, "finished_at": at, "started_at": at, "software_version": VERSION}
    of_judge = {"study": target.staged, "judge": judge, "questions": [question], **_WHOLE}
    run, is_new = JudgeRun.objects.get_or_create(**of_judge, defaults=more)
    if is_new:
        target.note([run])
    return run


def drop_completions(study: Study) -> None:
    """Delete the answers of endpoints behind a study's judgments that no other study uses."""
    answers = Completion.objects.filter(judgments__run__study=study).order_by().distinct()
    keys = list(answers.values_list("pk", flat=True))
    for start in range(0, len(keys), PART):
        some = keys[start : start + PART]
        used = Judgment.completions.through.objects.filter(completion__in=some).exclude(judgment__run__study=study)
        Completion.objects.filter(pk__in=some).exclude(pk__in=used.values("completion")).delete()


def drop_unused_judges() -> None:
    """Delete the judges of imports that were not finished."""
    Judge.objects.filter(method=Imported.name, runs=None).delete()


def _status(row: ResolvedRow) -> str:
    return row.row.status or (Judgment.Status.UNPARSED if row.verdict is None else Judgment.Status.PARSED)


def _judgment(resolved: ResolvedRow, run: JudgeRun, at: datetime) -> Judgment:
    row = resolved.row
    p_b = 1 - row.p_b if resolved.swapped and row.p_b is not None else row.p_b
    scores = (row.score_b, row.score_a) if resolved.swapped else (row.score_a, row.score_b)
    return Judgment(  # type: ignore[misc]  # stubs take a reason for a text
        run=run,
        pair_id=resolved.pair_id,
        order=resolved.order,
        repeat=row.repeat,
        negated=row.negated,
        question=resolved.question,
        status=_status(resolved),
        verdict=resolved.verdict,
        p_b=p_b,
        score_a=scores[0],
        score_b=scores[1],
        token_mass=row.token_mass,
        failure=row.reason if row.status else reason("no_verdict_in_file") if resolved.verdict is None else "",
        rationale=row.rationale,
        calls=row.calls,
        prompt_tokens=row.prompt_tokens,
        completion_tokens=row.completion_tokens,
        cost=row.cost,
        prompt_version=row.prompt_version,
        parser_version=Imported.parser_version,
        judged_at=row.judged_at or at,
    )


def _contradiction(row: ResolvedRow, stored_row: Sequence[object]) -> Reason:
    status, verdict, _ = stored_row
    words = {-1: "a", 0: "tie", 1: "b", None: str(status)}
    new_word = words[row.verdict] if row.verdict is not None else str(Judgment.Status.UNPARSED.value)
    stored_word = words.get(verdict, str(status))  # type: ignore[call-overload]
    difference = f"verdict {stored_word}, not {new_word}" if stored_word != new_word else "another rationale"
    return refusal(
        "judged_otherwise", judge=row.row.judge, what=difference, place=str(row.row.place), order=row.row.order
    )

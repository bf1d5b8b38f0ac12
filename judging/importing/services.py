"""Importing judgments made elsewhere into a study."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import transaction
from django.utils import timezone

from annotation.core.database.aggregates import grouped
from annotation.core.errors import BadLine
from annotation.core.files.lines import FileData, refuse
from annotation.core.files.mapping import NOTHING, FieldMapping, in_own_columns, recorded
from annotation.core.names import lookalikes, short_name_problem
from annotation.core.reasons import Reason, reason
from annotation.core.refusals import refusal
from annotation.core.version import VERSION
from annotation.importing.staging import PART, Level, Target, open_import
from annotation.models import Study
from judging.importing.judgments import LONGEST_NAME, JudgmentFile, JudgmentRow, judge_name, parse_judgments
from judging.importing.pairs import ResolvedRow, Resolver
from judging.methods.baselines import Imported
from judging.models import Completion, Judge, JudgeRun, Judgment

IMPORTED = "-imported"  # ends the name of a judge from a file whose own name a judge has that is run here
_WHOLE = {"batch": None, "filter_key": ""}  # of runs on all pairs
_AS_IN_FILE = (
    *("repeat", "negated", "token_mass", "rationale", "calls", "prompt_tokens", "completion_tokens", "cost"),
    "prompt_version",
)
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
    contents = reason("judgments_by", number=stored.added, judges=list(stored.judges))
    summary = reason("imported", name=name, contents=contents)
    if stored.unread:
        summary = reason("columns_ignored", summary=summary, columns=stored.unread)
    return study, summary


def _judges(study: Study, rows: Sequence[JudgmentRow]) -> tuple[dict[str, Judge], list[BadLine]]:
    """Return each judge in the file by its label, unsaved if new, and the first line of each refused judge."""
    name_of = {row.judge: judge_name(row.judge) for row in rows}
    # A judge of this name that judges only other studies here is another one.
    made_here = Judge.objects.filter(name__in=name_of.values()).exclude(method=Imported.name)
    elsewhere = set(made_here.exclude(runs__study=study).values_list("name", flat=True))
    for label, name in name_of.items():
        if name in elsewhere:
            name_of[label] = f"{name[: LONGEST_NAME - len(IMPORTED)]}{IMPORTED}"
    existing = {judge.name: judge for judge in Judge.objects.filter(name__in=name_of.values())}
    families = {label: sorted(set(names)) for label, names in grouped((row.judge, row.family) for row in rows).items()}
    refused: dict[str, Reason] = {}
    by_name: dict[str, str] = {}
    for label, name in name_of.items():
        if (other := by_name.setdefault(name, label)) != label:
            refused[label] = refusal("judges_of_one_name", other=repr(other), judge=repr(label), name=name)
        elif len(families[label]) > 1:
            listed = ", ".join(family or "none" for family in families[label])
            refused[label] = refusal("several_families", judge=repr(label), families=listed)
        elif name in existing and (problem := _taken(existing[name], label, *families[label])):
            refused[label] = problem
    labels = {name: label for label, name in name_of.items()}
    for name, other in lookalikes(labels, existing).items():
        refused[labels[name]] = refusal("judge_lookalike", judge=name, other=other)
    for label, name in name_of.items():
        if name not in existing and (similar := short_name_problem(Judge, "name", name)):
            refused[label] = refusal("judge_near_other", problem=similar)
    first = {row.judge: row.number for row in reversed(rows)}
    judges = {}
    for label, name in name_of.items():
        if label in refused:
            continue
        params = {} if name == label else {"label": label}
        new = Judge(name=name, method=Imported.name, family=families[label][0], params=params)
        judges[label] = existing.get(name) or new
    return judges, [BadLine(first[label], problem) for label, problem in refused.items()]


def _taken(judge: Judge, label: str, family: str) -> Reason | None:
    """Return why the verdicts can't be added to a stored judge, or None if they can."""
    stored = judge.params.get("label", judge.name)
    if judge.method != Imported.name:
        return refusal("judge_made_here", judge=judge.name, method=judge.method)
    if stored != label:
        return refusal("judge_of_other_label", judge=judge.name, stored=repr(stored), label=repr(label))
    if family and family != judge.family:
        return refusal("judge_of_other_family", judge=judge.name, stored=judge.family or "none", family=family)
    return None


def _stored_runs(study: Study, judges: Mapping[str, Judge]) -> Runs:
    """Return the study's runs of imported judgments by judge's label and question."""
    labels = {judge.pk: label for label, judge in judges.items() if judge.pk}
    stored = JudgeRun.objects.filter(study=study, judge__in=labels, **_WHOLE)
    return {(labels[run.judge_id], run.questions[0]): run for run in stored if len(run.questions) == 1}


def _fresh(
    runs: Runs, judges: Mapping[str, Judge], resolved: Sequence[ResolvedRow]
) -> tuple[list[ResolvedRow], list[BadLine]]:
    """Return the rows of new judgments, and the lines that contradict stored ones."""
    key, statement = ("run_id", "pair_id", "order", "repeat", "negated"), ("status", "verdict", "rationale")
    judgments = Judgment.objects.filter(run__in=list(runs.values())).values_list(*key, *statement)
    stored = {tuple(values[: len(key)]): values[len(key) :] for values in judgments}
    fresh, bad = [], []
    for item in (item for item in resolved if item.row.judge in judges):
        row, run = item.row, runs.get((item.row.judge, item.question))
        before = stored.get((run.pk, item.pair_id, item.order, row.repeat, row.negated)) if run else None
        if before is None:
            fresh.append(item)
        elif before != (_status(item), item.verdict, row.rationale):
            stored_word, word = _word(*before[:2]), _word(Judgment.Status.UNPARSED, item.verdict)
            values = {"judge": row.judge, "place": str(row.place), "order": row.order}
            why = refusal("other_rationale", **values)
            if stored_word != word:
                why = refusal("judged_otherwise", **values, stored=stored_word, given=word)
            bad.append(BadLine(row.number, why))
    return fresh, bad


def _word(status: str, verdict: int | None) -> str:
    """Return the word for a verdict, or the status of a judgment without one."""
    return str(status) if verdict is None else {-1: "a", 0: "tie", 1: "b"}[verdict]


def _store(target: Target, judges: Mapping[str, Judge], stored_runs: Runs, fresh: Sequence[ResolvedRow]) -> None:
    """Store judgments, with the judges and runs that are missing."""
    questions = sorted({(item.row.judge, item.question) for item in fresh})
    now = timezone.now()
    more = {"status": JudgeRun.Status.DONE, "finished_at": now, "started_at": now, "software_version": VERSION}
    runs: Runs = {}
    with transaction.atomic():
        for label, question in questions:
            if (judge := judges[label])._state.adding:
                judge.save()
            of_judge = {"study": target.staged, "judge": judge, "questions": [question], **_WHOLE}
            runs[label, question], is_new = JudgeRun.objects.get_or_create(**of_judge, defaults=more)
            if is_new:
                target.note([runs[label, question]])
    target.create(_judgment(item, runs[item.row.judge, item.question], now) for item in fresh)

    def complete() -> None:
        for run in (stored_runs[key] for key in questions if key in stored_runs):
            run.status, run.software_version, run.finished_at = JudgeRun.Status.DONE, VERSION, now
            run.started_at = run.started_at or now
            run.save(update_fields=["status", "software_version", "finished_at", "started_at"])

    target.later(complete)


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
    p_b, scores = row.p_b, (row.score_a, row.score_b)
    if resolved.swapped:
        p_b, scores = None if p_b is None else 1 - p_b, scores[::-1]
    return Judgment(  # type: ignore[misc]  # stubs take a reason for a text
        run=run,
        pair_id=resolved.pair_id,
        order=resolved.order,
        question=resolved.question,
        status=_status(resolved),
        verdict=resolved.verdict,
        p_b=p_b,
        score_a=scores[0],
        score_b=scores[1],
        failure=row.reason if row.status else reason("no_verdict_in_file") if resolved.verdict is None else "",
        parser_version=Imported.parser_version,
        judged_at=row.judged_at or at,
        **{name: getattr(row, name) for name in _AS_IN_FILE},
    )

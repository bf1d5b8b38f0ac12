"""Reading judgments that were made elsewhere into a study, as those of judges that ask nobody."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from annotation.errors import BadLine
from annotation.formats.lines import refuse
from annotation.models import Study
from annotation.services.studies import find_study, record_import
from annotation.version import VERSION
from judging.judges.imported import Imported
from judging.loaders.judgments import JudgmentRow, judge_name, parse_judgments
from judging.models import Judge, JudgeRun, Judgment
from judging.services.imported_pairs import Found, Resolver

NO_VERDICT = "no verdict in the file that it was read from"
_CHUNK = 500


@dataclass(frozen=True)
class ImportedJudgments:
    """What a file changed: judgments added, those already there, and whose they are.

    judges : name of each judge → what the file calls it
    unread : columns of the file that nothing was made of
    """

    added: int
    unchanged: int
    judges: dict[str, str]
    unread: list[str]

    @property
    def counts(self) -> dict[str, int]:
        """The numbers alone."""
        return {"added": self.added, "unchanged": self.unchanged, "judges": len(self.judges)}


def import_judgments(*, data: bytes, name: str, slug: str) -> tuple[Study, ImportedJudgments]:
    """Read judgments of a study's pairs, whole or not at all.

    What is there already must say the same. Each judge of the file gets a run on the study, which is done.
    Raises: BadFile listing every line that can't be taken; UnknownStudy.
    """
    file = parse_judgments(data, name)
    with transaction.atomic():  # only now: while SQLite writes, every rater waits
        study = find_study(slug, lock=True)
        found, unknown = Resolver(study).resolve(file.rows)
        runs, taken = _runs(study, file.rows)
        fresh, contradictions = _fresh(runs, found)
        refuse(name, [*file.bad, *unknown, *taken, *contradictions])  # all at once, for whoever has to mend it
        added = _store(runs, fresh)
        stored = ImportedJudgments(
            added=added,
            unchanged=len(file.rows) - added,
            judges={judge_name(label): label for label in sorted({row.judge for row in file.rows})},
            unread=file.unread,
        )
        if added:
            record_import(study=study, kind="judgments", name=name, data=data, counts=stored.counts)
        return study, stored


def _runs(study: Study, rows: Sequence[JudgmentRow]) -> tuple[dict[str, JudgeRun], list[BadLine]]:
    """Return the run of each judge of the file, made where it isn't there; and the lines of those whose name is taken."""
    labels = list(dict.fromkeys(row.judge for row in rows))
    known = {judge.name: judge for judge in _judges(judge_name(label) for label in labels)}
    refused: dict[str, str] = {}
    by_name: dict[str, str] = {}
    families = _families(rows)
    for label in labels:
        other = by_name.setdefault(judge_name(label), label)
        if other != label:
            refused[label] = f"judges {other!r} and {label!r} would both be named {judge_name(label)}"
        elif len(families[label]) > 1:
            refused[label] = (
                f"judge {label!r} has several families: {', '.join(one or 'none' for one in families[label])}"
            )
        elif problem := _taken(known.get(judge_name(label)), label, *families[label]):
            refused[label] = problem
    bad = dict.fromkeys(BadLine(row.number, refused[row.judge]) for row in rows if row.judge in refused)
    labels = [label for label in labels if label not in refused]
    made = [_judge(label, *families[label]) for label in labels if judge_name(label) not in known]
    Judge.objects.bulk_create(made)
    known |= {judge.name: judge for judge in made}
    return {label: _run(study, known[judge_name(label)]) for label in labels}, list(bad)


def _families(rows: Sequence[JudgmentRow]) -> dict[str, list[str]]:
    found: dict[str, set[str]] = {}
    for row in rows:
        found.setdefault(row.judge, set()).add(row.family)
    return {label: sorted(families) for label, families in found.items()}


def _judges(names: Iterable[str]) -> QuerySet[Judge]:
    return Judge.objects.select_for_update(of=("self",)).filter(name__in=list(names))


def _taken(judge: Judge | None, label: str, family: str) -> str:
    """Say why the verdicts can't be this judge's, if they can't."""
    if judge is None:
        return ""
    if judge.method != Imported.name:
        return f"judge {judge.name} is there already, of method {judge.method}: its verdicts are made here"
    if judge.params.get("label", judge.name) != label:
        return f"judge {judge.name} is there already, for {judge.params.get('label', judge.name)!r} and not {label!r}"
    if family and family != judge.family:
        return f"judge {judge.name} is there already, with family {judge.family or 'none'} and not {family}"
    return ""


def _judge(label: str, family: str) -> Judge:
    name = judge_name(label)
    return Judge(name=name, method=Imported.name, family=family, params={} if name == label else {"label": label})


def _run(study: Study, judge: Judge) -> JudgeRun:
    run, _ = JudgeRun.objects.get_or_create(study=study, judge=judge, batch=None, filter_key="")
    run.status = JudgeRun.Status.DONE
    run.finished_at = timezone.now()
    run.started_at = run.started_at or run.finished_at
    run.software_version = VERSION
    return run


def _fresh(runs: dict[str, JudgeRun], found: Sequence[Found]) -> tuple[list[Judgment], list[BadLine]]:
    """Return the judgments that aren't there, and the lines that contradict what is."""
    stored = {
        (run_id, pair_id, order): said
        for run_id, pair_id, order, *said in Judgment.objects.filter(
            run__in=list(runs.values()), repeat=0, negated=False
        ).values_list("run_id", "pair_id", "order", "status", "verdict", "rationale")
    }
    fresh, bad = [], []
    for one in (one for one in found if one.row.judge in runs):
        judgment = _judgment(one, runs[one.row.judge])
        there = stored.get((judgment.run_id, judgment.pair_id, judgment.order))
        if there is None:
            fresh.append(judgment)
        elif there != [judgment.status, judgment.verdict, judgment.rationale]:
            bad.append(BadLine(one.row.number, _contradiction(one, there)))
    return fresh, bad


def _store(runs: dict[str, JudgeRun], fresh: Sequence[Judgment]) -> int:
    """Add judgments, and return how many; runs that get none stay as they are."""
    Judgment.objects.bulk_create(fresh, batch_size=_CHUNK)
    touched = {judgment.run_id for judgment in fresh}
    fields = ["status", "started_at", "finished_at", "software_version"]
    JudgeRun.objects.bulk_update([run for run in runs.values() if run.pk in touched], fields, batch_size=_CHUNK)
    return len(fresh)


def _judgment(one: Found, run: JudgeRun) -> Judgment:
    row, status = one.row, Judgment.Status
    return Judgment(
        run=run,
        pair_id=one.pair_id,
        order=one.order,
        status=status.UNPARSED if one.verdict is None else status.PARSED,
        verdict=one.verdict,
        failure=NO_VERDICT if one.verdict is None else "",
        rationale=row.rationale,
        calls=row.calls,
        prompt_tokens=row.prompt_tokens,
        completion_tokens=row.completion_tokens,
        parser_version=Imported.parser_version,
        judged_at=run.finished_at,
    )


def _contradiction(one: Found, there: Sequence[object]) -> str:
    status, verdict, _ = there
    words = {-1: "a", 0: "tie", 1: "b", None: str(status)}
    given = words[one.verdict] if one.verdict is not None else str(Judgment.Status.UNPARSED.value)
    said = words.get(verdict, str(status))  # type: ignore[call-overload]
    what = f"verdict {said}, not {given}" if said != given else "another rationale"
    return f"judge {one.row.judge} is stored with {what}, for {one.row.place} in order {one.row.order}"

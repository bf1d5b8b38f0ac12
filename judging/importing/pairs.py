"""Resolving the pairs that a judgments file refers to."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from annotation.core.database.aggregates import grouped
from annotation.core.errors import MOST_BAD_LINES, BadLine
from annotation.core.reasons import Reason
from annotation.core.refusals import refusal
from annotation.importing.staging import Target
from annotation.models import Instance, Pair
from annotation.questions.questions import MAIN
from annotation.studies.instances import gold_verdict
from judging.importing.judgments import JudgmentRow, PairReference
from judging.models import Judgment

_CHUNK = 500
_SWAPPED = {Judgment.Order.AB: Judgment.Order.BA, Judgment.Order.BA: Judgment.Order.AB}
_OUTPUTS = {-1: "the first output", 0: "a tie", 1: "the second output"}


@dataclass(frozen=True)
class ResolvedRow:
    """A row with its pair and the number of its question, converted to the study's A and B."""

    row: JudgmentRow
    pair_id: int
    question: int
    order: str
    verdict: int | None
    swapped: bool

    @property
    def key(self) -> tuple[object, ...]:
        """Unique within a file."""
        return self.row.judge, self.pair_id, self.order, self.row.repeat, self.row.negated, self.question


@dataclass(frozen=True)
class _Candidate:
    """A pair of the study, with the fields by which a file may refer to it."""

    pair_id: int
    index: int
    system_a: str
    system_b: str
    gold: int | None


class Resolver:
    """Finds the pairs that a file's rows refer to."""

    def __init__(self, target: Target) -> None:
        self.studies = target.studies
        self.questions = {question.key: question.number for question in target.study.questions}
        self.subsets: dict[str, tuple[str, list[str]] | Reason] = {}  # of a file → data set and its instances
        self.candidates: dict[str, list[_Candidate]] = {}

    def resolve(self, rows: Sequence[JudgmentRow]) -> tuple[list[ResolvedRow], list[BadLine]]:
        """Return the rows with their pairs, and the lines whose pair is unknown or a duplicate."""
        self._read_subsets({row.place.subset for row in rows if row.place.subset})
        instances = {self._instance(row.place) for row in rows}
        self._read_candidates(sorted(instance for instance in instances if isinstance(instance, str) and instance))
        results: list[ResolvedRow] = []
        bad: dict[BadLine, None] = {}  # each once: two rows of one line may have the same problem
        first_seen: dict[tuple[object, ...], int] = {}
        for row in rows:
            if len(bad) >= MOST_BAD_LINES:
                break
            resolved = self._resolved(row)
            if isinstance(resolved, Reason):
                bad[BadLine(row.number, resolved)] = None
            elif line := first_seen.get(resolved.key):
                values = {"place": str(row.place), "order": row.order, "judge": row.judge, "line": line}
                bad[BadLine(row.number, refusal("judged_before", **values))] = None
            else:
                first_seen[resolved.key] = row.number
                results.append(resolved)
        return results, list(bad)

    def _resolved(self, row: JudgmentRow) -> ResolvedRow | Reason:
        """Return the row with its pair and question, or the problem."""
        reference = row.place
        if row.question and row.question not in self.questions:
            return refusal("question_not_asked", question=repr(row.question), questions=", ".join(self.questions))
        instance = self._instance(reference)
        if isinstance(instance, Reason):
            return instance
        candidate = self._candidate(reference, self.candidates.get(instance, []), instance)
        if isinstance(candidate, Reason):
            return candidate
        if row.gold is not None and candidate.gold is not None and int(row.gold) != candidate.gold:
            here, in_file = _OUTPUTS[candidate.gold], _OUTPUTS[int(row.gold)]
            return refusal("other_label", place=str(reference), here=here, in_file=in_file)
        swapped = bool(reference.system_a) and reference.system_a == candidate.system_b
        verdict = None if row.verdict is None else -int(row.verdict) if swapped else int(row.verdict)
        order = _SWAPPED[Judgment.Order(row.order)] if swapped else row.order
        question = self.questions[row.question] if row.question else MAIN
        return ResolvedRow(row, candidate.pair_id, question, order, verdict, swapped)

    def _candidate(self, reference: PairReference, pairs: list[_Candidate], instance: str) -> _Candidate | Reason:
        if not pairs:
            return refusal("no_pairs", instance=repr(instance))
        a, b = reference.system_a, reference.system_b
        if a:
            pairs = [pair for pair in pairs if {pair.system_a, pair.system_b} == {a, b}]
            if not pairs:
                return refusal("not_compared", system_a=a, system_b=b, instance=repr(instance))
        elif len({(pair.system_a, pair.system_b) for pair in pairs}) > 1:
            return refusal("systems_not_named", instance=repr(instance))
        if reference.pair is None and len(pairs) > 1:
            return refusal("pair_not_named", instance=repr(instance), number=len(pairs))
        selected = next((pair for pair in pairs if reference.pair in (None, pair.index)), None)
        return selected or refusal("no_pair_of_number", instance=repr(instance), pair=reference.pair, number=len(pairs))

    def _instance(self, reference: PairReference) -> str | Reason:
        """Return the id of the instance, or the problem if there is none."""
        if reference.idx is None:
            return reference.instance
        subset = self.subsets[reference.subset]
        if isinstance(subset, Reason):
            return subset
        dataset, instances = subset
        if reference.idx >= len(instances):
            values = {"dataset": dataset, "number": len(instances)}
            return refusal("no_instance_of_number", place=str(reference), **values)
        return instances[reference.idx]

    def _read_subsets(self, names: Iterable[str]) -> None:
        """Find the data set of each subset in a file: the one whose name is the end of the subset's path."""
        stored = Instance.objects.filter(study__in=self.studies).order_by("position")
        datasets = grouped(stored.values_list("dataset", "instance_id")) if names else {}
        for name in names:
            path = f"/{_path(name)}"
            matching = [dataset for dataset in datasets if path.endswith(f"/{_path(dataset)}")]
            longest = max((len(_path(dataset)) for dataset in matching), default=0)
            matching = [dataset for dataset in matching if len(_path(dataset)) == longest]
            if len(matching) == 1:
                self.subsets[name] = matching[0], datasets[matching[0]]
            else:
                listed = ", ".join(matching or datasets) or "none yet"
                problem = "several data sets" if matching else "no data set"
                self.subsets[name] = refusal("unknown_subset", which=problem, subset=name, datasets=listed)

    def _read_candidates(self, instance_ids: Sequence[str]) -> None:
        path, systems = "matchup__instance__", ("matchup__system_a__name", "matchup__system_b__name")
        pairs = Pair.objects.filter(matchup__instance__study__in=self.studies).order_by("matchup_id", "index")
        for start in range(0, len(instance_ids), _CHUNK):
            some = pairs.filter(matchup__instance__instance_id__in=instance_ids[start : start + _CHUNK])
            columns = (f"{path}instance_id", f"{path}gold", "pk", "index", *systems)
            for instance_id, gold, pk, index, a, b in some.values_list(*columns):
                candidate = _Candidate(pk, index, a, b, gold_verdict(gold, a, b))
                self.candidates.setdefault(instance_id, []).append(candidate)


def _path(name: str) -> str:
    """Normalise a name to a lower-case path: `Adversarial_GPTInst` equals `Adversarial/GPTInst`."""
    return "/".join("".join(char if char.isalnum() else " " for char in name.lower()).split())

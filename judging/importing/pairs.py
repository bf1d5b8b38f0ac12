"""Resolving the pairs that a judgments file refers to."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from annotation.core.errors import MOST_BAD_LINES, BadLine
from annotation.core.reasons import Reason
from annotation.core.refusals import refusal
from annotation.importing.staging import Target
from annotation.models import Instance, Pair
from annotation.questions.questions import MAIN
from annotation.studies.gold import gold_verdict
from judging.importing.fields import JudgmentRow, PairReference
from judging.models import Judgment

_CHUNK = 500
_SWAPPED = {Judgment.Order.AB: Judgment.Order.BA, Judgment.Order.BA: Judgment.Order.AB}
_SAID = {-1: "the first output", 0: "a tie", 1: "the second output"}


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


@dataclass
class _Candidate:
    """A pair of the study, with the fields by which a file may refer to it."""

    pair_id: int
    index: int
    system_a: str
    system_b: str
    gold: int | None


@dataclass
class _Subset:
    """A data set of the study, its instances in the order of import."""

    dataset: str
    instances: list[str] = field(default_factory=list)


class Resolver:
    """Finds the pairs that a file's rows refer to."""

    def __init__(self, target: Target) -> None:
        self.studies = target.studies
        self.questions = {question.key: question.number for question in target.study.questions}
        self.subsets: dict[str, _Subset | Reason] = {}
        self.candidates: dict[str, list[_Candidate]] = {}

    def resolve(self, rows: Sequence[JudgmentRow]) -> tuple[list[ResolvedRow], list[BadLine]]:
        """Return the rows with their pairs, and the lines whose pair is unknown or a duplicate."""
        self._read_subsets({row.place.subset for row in rows if row.place.subset})
        instances = {self._instance(row.place)[0] for row in rows}
        self._read_candidates(sorted(instance for instance in instances if instance))
        results: list[ResolvedRow] = []
        bad: dict[BadLine, None] = {}  # each once: two rows of one line may have the same problem
        first_seen: dict[tuple[object, ...], int] = {}
        for row in rows:
            if len(bad) >= MOST_BAD_LINES:
                break
            candidate = self._found(row)
            if isinstance(candidate, Reason):
                bad[BadLine(row.number, candidate)] = None
            elif candidate.key in first_seen:
                reason = refusal(
                    "judged_before",
                    place=str(row.place),
                    order=row.order,
                    judge=row.judge,
                    line=first_seen[candidate.key],
                )
                bad[BadLine(row.number, reason)] = None
            else:
                first_seen[candidate.key] = row.number
                results.append(candidate)
        return results, list(bad)

    def _found(self, row: JudgmentRow) -> "ResolvedRow | Reason":
        """Return the row with its pair and question, or the problem."""
        reference = row.place
        if row.question and row.question not in self.questions:
            return refusal("question_not_asked", question=repr(row.question), questions=", ".join(self.questions))
        instance, problem = self._instance(reference)
        if problem:
            return problem
        candidate = self._candidate(reference, self.candidates.get(instance, []), instance)
        if isinstance(candidate, Reason):
            return candidate
        swapped = bool(reference.system_a) and reference.system_a == candidate.system_b
        verdict = None if row.verdict is None else int(row.verdict)
        if row.gold is not None and candidate.gold is not None and int(row.gold) != candidate.gold:
            return refusal(
                "other_label", place=str(reference), here=_SAID[candidate.gold], in_file=_SAID[int(row.gold)]
            )
        if swapped:
            verdict = None if verdict is None else -verdict
        order = _SWAPPED[Judgment.Order(row.order)] if swapped else row.order
        question = self.questions[row.question] if row.question else MAIN
        return ResolvedRow(row, candidate.pair_id, question, order, verdict, swapped)

    def _candidate(
        self, reference: PairReference, candidates: list[_Candidate], instance: str
    ) -> "_Candidate | Reason":
        if not candidates:
            return refusal("no_pairs", instance=repr(instance))
        if reference.system_a:
            named = [
                candidate
                for candidate in candidates
                if {candidate.system_a, candidate.system_b} == {reference.system_a, reference.system_b}
            ]
            if not named:
                return refusal(
                    "not_compared", system_a=reference.system_a, system_b=reference.system_b, instance=repr(instance)
                )
            candidates = named
        elif len({(candidate.system_a, candidate.system_b) for candidate in candidates}) > 1:
            return refusal("systems_not_named", instance=repr(instance))
        if reference.pair is None and len(candidates) > 1:
            return refusal("pair_not_named", instance=repr(instance), number=len(candidates))
        selected = [candidate for candidate in candidates if reference.pair in (None, candidate.index)]
        if not selected:
            return refusal("no_pair_of_number", instance=repr(instance), pair=reference.pair, number=len(candidates))
        return selected[0]

    def _instance(self, reference: PairReference) -> tuple[str, Reason | None]:
        """Return the id of the instance, and the problem if there is none."""
        if reference.idx is None:
            return reference.instance, None
        subset = self.subsets[reference.subset]
        if isinstance(subset, Reason):
            return "", subset
        if reference.idx >= len(subset.instances):
            values = {"dataset": subset.dataset, "number": len(subset.instances)}
            return "", refusal("no_instance_of_number", place=str(reference), **values)
        return subset.instances[reference.idx], None

    def _read_subsets(self, names: Iterable[str]) -> None:
        """Find the data set of each subset in a file: the one whose name is the end of the subset's path."""
        datasets: dict[str, _Subset] = {}
        rows = (
            Instance.objects.filter(study__in=self.studies).order_by("position").values_list("dataset", "instance_id")
        )
        for dataset, instance_id in rows if names else ():
            datasets.setdefault(dataset, _Subset(dataset)).instances.append(instance_id)
        for name in names:
            path = f"/{_path(name)}"
            matching = [dataset for dataset in datasets.values() if path.endswith(f"/{_path(dataset.dataset)}")]
            longest = max((len(_path(item.dataset)) for item in matching), default=0)
            matching = [item for item in matching if len(_path(item.dataset)) == longest]
            if len(matching) == 1:
                self.subsets[name] = matching[0]
            else:
                listed = ", ".join(item.dataset for item in matching or datasets.values()) or "none yet"
                problem = "several data sets" if matching else "no data set"
                self.subsets[name] = refusal("unknown_subset", which=problem, subset=name, datasets=listed)

    def _read_candidates(self, instance_ids: Sequence[str]) -> None:
        for start in range(0, len(instance_ids), _CHUNK):
            pairs = Pair.objects.filter(
                matchup__instance__study__in=self.studies,
                matchup__instance__instance_id__in=instance_ids[start : start + _CHUNK],
            ).order_by("matchup_id", "index")
            for instance_id, gold, pair_id, index, a, b in pairs.values_list(
                "matchup__instance__instance_id",
                "matchup__instance__gold",
                "pk",
                "index",
                "matchup__system_a__name",
                "matchup__system_b__name",
            ):
                candidate = _Candidate(pair_id, index, a, b, gold_verdict(gold, a, b))
                self.candidates.setdefault(instance_id, []).append(candidate)


def _path(name: str) -> str:
    """Normalise a name to a lower-case path: `Adversarial_GPTInst` equals `Adversarial/GPTInst`."""
    return "/".join(part for part in "".join(c if c.isalnum() else "/" for c in name.lower()).split("/") if part)

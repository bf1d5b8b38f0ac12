"""Inputs of findings: the filters, and a study's verdicts as arrays. No models: findings are computed from these alone."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from analysis.ranking.bradley_terry import Ties
from analysis.types import FloatArray, IntArray, Outcomes
from annotation.questions.questions import MAIN, Question
from judging.outcomes.provenance import Provenance
from reporting.core.estimates import IntervalSettings
from reporting.core.raters import Rater
from reporting.findings.data.separability_bins import Separability, SeparabilityMeasure

DEFAULT_EPSILON = 0.1  # for crowd workers, see `analysis.judges.replacement`


@dataclass(frozen=True)
class Filters:
    """The part of a study that findings cover (`None` for all), and the bootstrap settings.

    batches, datasets : names
    systems : one name: configurations with that system; two: those of the two
    stage   : of people's votes: `first`, or `revised` after a comparison table
    raters, arms : codes of people, and names of the arms of their HITs
    with_incomplete : whether rating sets that lack a rating count too, in consistency and preference strength
    with_excluded : whether people's ratings that were excluded manually count too
    epsilon : how much less than a person a judge may agree with people and still replace one
    two_way : whether intervals are over instances and raters, where a number has several raters
    estimates_only : whether intervals, tests and verdicts are left to a second pass; no part of an address
    clusters, horizon : see `IntervalSettings`; set while findings are computed, no part of an address
    """

    similarity: str | None = None
    batches: tuple[str, ...] | None = None
    bins: int = 4
    with_incomplete: bool = False
    rounds: int = 1000
    seed: int = 0
    stage: str = "first"
    judges: tuple[str, ...] | None = None
    ties: Ties = "half"  # in Bradley-Terry strengths
    question: Question | None = None  # one of several; None where the study asks one only
    epsilon: float = DEFAULT_EPSILON
    two_way: bool = False
    datasets: tuple[str, ...] | None = None
    systems: tuple[str, ...] | None = None
    raters: tuple[str, ...] | None = None
    arms: tuple[str, ...] | None = None
    with_excluded: bool = False
    estimates_only: bool = False
    clusters: IntArray | None = field(default=None, compare=False)
    horizon: int | None = None

    @property
    def question_number(self) -> int:
        """The number of the question."""
        return MAIN if self.question is None else self.question.number

    @property
    def intervals(self) -> IntervalSettings:
        """Settings of intervals."""
        return IntervalSettings(
            two_way=self.two_way,
            seed=self.seed,
            rounds=self.rounds,
            made=not self.estimates_only,
            clusters=self.clusters,
            horizon=self.horizon,
        )

    def as_json(self) -> dict[str, Any]:
        """Return the filters as a JSON object."""
        names = ("batches", "datasets", "systems", "raters", "arms", "judges")
        return {
            "similarity": self.similarity,
            **{name: None if (value := getattr(self, name)) is None else list(value) for name in names},
            "with_excluded": self.with_excluded,
            "bins": self.bins,
            "with_incomplete": self.with_incomplete,
            "stage": self.stage,
            "ties": self.ties,
            **({} if self.question is None else {"question": self.question.key}),
            "epsilon": self.epsilon,
            "rounds": self.rounds,
            "level": self.intervals.level,
            "seed": self.seed,
            "two_way": self.two_way,
        }


@dataclass(frozen=True)
class ComparedSystem:
    """A system's name and the family of its model. The family is empty where not stated."""

    name: str
    family: str = ""


@dataclass(frozen=True)
class Compared:
    """A configuration by its names. A is the system that was imported first."""

    dataset: str
    system_a: ComparedSystem
    system_b: ComparedSystem


@dataclass(frozen=True, eq=False)
class Pairs:
    """The pairs of a configuration, without their verdicts.

    instance, index    : (n,) the instance's code in the selection, and the pair's index in the matchup, as in outcomes
    length_a, length_b : (n,) lengths of the two texts in characters
    gold               : (n,) which text the gold of the instance prefers: -1 A, +1 B, 0 neither; NaN where it doesn't say
    """

    instance: IntArray
    index: IntArray
    length_a: FloatArray
    length_b: FloatArray
    gold: FloatArray

    def __len__(self) -> int:
        return len(self.instance)


@dataclass(frozen=True, eq=False)
class ConfigurationData:
    """One configuration with the verdicts of people and judges on it.

    instance_ids : the selected instances. The place of one is its code in outcomes
    pairs       : of these instances
    clusters    : (n,) code over the study of the cluster of each instance; None where each instance is its own
    chosen      : how instances were selected, see `reporting.core.instance_selection`
    judged_only : by judge, verdicts on instances that stand on no HIT, with codes of their own
    judged_only_clusters : of those instances, as `clusters`
    """

    configuration: Compared
    instance_ids: tuple[str, ...]
    pairs: Pairs
    separability: Separability
    people: Rater
    judges: tuple[Rater, ...]
    chosen: list[dict[str, Any]]
    clusters: IntArray | None = None
    judged_only: Mapping[str, Outcomes] = field(default_factory=dict)
    judged_only_clusters: IntArray | None = None

    @property
    def dataset(self) -> str:
        """The name of the data set."""
        return self.configuration.dataset

    @property
    def systems(self) -> tuple[str, str]:
        """The names of A and B."""
        return self.configuration.system_a.name, self.configuration.system_b.name

    @property
    def named(self) -> dict[str, str]:
        """The configuration's names in the JSON."""
        return {"dataset": self.dataset, "system_a": self.systems[0], "system_b": self.systems[1]}

    @property
    def raters(self) -> tuple[Rater, ...]:
        """People first, then the judges."""
        return (self.people, *self.judges)


@dataclass(frozen=True, eq=False)
class StudyAlignments:
    """Alignments of all matchups of a study by one measure, as they are before normalisation.

    raw  : (n, 3) self A, self B, cross; NaN where undefined. Filters leave none out, so that they move no scale
    rows : for each configuration of `StudyData`, the row of each selected instance; -1 where it has none
    """

    measured: SeparabilityMeasure
    raw: FloatArray
    rows: tuple[IntArray, ...]


@dataclass(frozen=True)
class Checks:
    """Numbers of a person's checked pairs, and of those answered as expected or as before."""

    gold_asked: int
    gold_right: int
    repeat_asked: int
    repeat_same: int


@dataclass(frozen=True)
class JuryMembers:
    """A jury by the names of its members, and its rule."""

    name: str
    members: tuple[str, ...]
    rule: str

    @classmethod
    def of(cls, name: str, params: Mapping[str, Any]) -> "JuryMembers":
        """Read them from the jury's parameters."""
        return cls(name, tuple(params["members"]), params["rule"])


@dataclass(frozen=True)
class Planned:
    """A plan that was frozen before the first vote, and what was done since.

    plan       : its content, hash and time, see `annotation.planning.frozen_plans`
    content    : its content under the present names of systems and judges
    is_altered : whether its text no longer has its hash
    batches    : those rated here whose ratings count, by what a plan states: batch, pairs, raters, stop_rule
    imported, undated, earlier : numbers of ratings from files, of others without a time, and of others older than the plan
    excluded   : number of HITs that were submitted and are excluded, alone or with their rater
    amended    : number of amendments since people rated
    submitted  : number of submitted HITs, for each instance and pair of systems in a batch that was begun
    judge_settings : the present hash of the settings of each planned judge that exists
    """

    plan: Mapping[str, Any]
    content: Mapping[str, Any]
    is_altered: bool
    batches: tuple[Mapping[str, Any], ...]
    imported: int
    undated: int
    earlier: int
    excluded: int
    amended: int
    submitted: tuple[int, ...]
    judge_settings: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class StudyData:
    """All that findings are computed from.

    alignments : by a measure that all configurations have; None where they have none in common
    scripted   : codes of raters that are programs
    checks     : of the people who were given any, by code
    amendments : events that affect the results, see `annotation.studies.log`
    juries     : the judges that are made of others
    tuned      : by judge that was tuned on votes, number of the study's instances left out with it
    baselines  : the judges that are rules without a model
    judges_not_shown : number of other judges, without baselines, that were asked and that the filters leave out
    provenance : of all answers that a judge has in the study, by judge, where any are stored
    planned    : the frozen plan, if there is one
    collecting : whether votes still come in, or came in until a stop rule held, so that they were looked at on the way
    """

    slug: str
    configurations: tuple[ConfigurationData, ...]
    alignments: StudyAlignments | None
    scripted: frozenset[str]
    checks: Mapping[str, Checks]
    amendments: list[dict[str, str]]
    juries: tuple[JuryMembers, ...] = ()
    tuned: Mapping[str, int] = field(default_factory=dict)
    baselines: frozenset[str] = frozenset()
    judges_not_shown: int = 0
    provenance: Mapping[str, Provenance] = field(default_factory=dict)
    collecting: bool = False
    planned: Planned | None = None

    def in_dataset(self, name: str) -> "StudyData":
        """Return the configurations of one data set, on the scale of all. Hidden checks stay those of the whole study."""
        retained = [index for index, configuration in enumerate(self.configurations) if configuration.dataset == name]
        alignments = self.alignments
        if alignments is not None:
            alignments = replace(alignments, rows=tuple(alignments.rows[index] for index in retained))
        configurations = tuple(self.configurations[index] for index in retained)
        return replace(self, configurations=configurations, alignments=alignments)

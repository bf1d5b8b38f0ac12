"""The SC² judge: samples comparison tables, finds the most consistent one, and decides with it."""

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any, ClassVar

from annotation.core.reasons import reason, restored
from judging.core.errors import BadSettings, UnparsedVerdict
from judging.methods.base import Call, Presentation, Procedure, Reply, Setting, register
from judging.methods.direct import EXAMPLE_WITH_TABLE, WithExamples, majority_of
from judging.methods.options import OFFLINE, is_asked_for
from judging.methods.parsing.answers import is_refusal
from judging.methods.prompts import load_prompt
from judging.methods.sc2 import aspects as aspect_lists
from judging.methods.sc2 import tables
from judging.methods.sc2.bracket import SCHEMES, TOURNAMENT, Bracket, Decision, comparisons, samples_within
from judging.methods.sc2.comparator import EXAMPLE, FEW_SHOT, PROMPT, comparator_call
from judging.methods.sc2.record import (
    AspectChoice,
    Record,
    TableRow,
    TableSample,
    format_table,
    swap_sides,
    winning_rows,
)
from judging.methods.task_files import Example, find_task

# Options of their making.
OF_TABLES = ("samples", "scheme", "aspects", "aspect_samples", "budget", "schema", "longest_cell", "comparator_shots")
MOST_DUELS = 1000  # per verdict: as many as there are sample numbers in a repeat
FEWEST_LEFT = 2  # readable tables needed where several were drawn, since one alone can't be compared


@dataclass(frozen=True)
class Plan:
    """The number of calls of each kind for a verdict."""

    scheme: str
    samples: int
    aspect_calls: int
    verdicts: int
    budget: int | None


@register
class StructuredComparison(WithExamples):
    """Draws comparison tables, has the most consistent one found, and chooses with it before its eyes."""

    name = "sc2"
    prompt = "sc2.v1.txt"
    example = "example.v1.txt"
    shows_tables = True
    options: ClassVar[Mapping[str, Any]] = {
        "ties": False,
        "logprobs": False,
        "samples": 8,
        "scheme": TOURNAMENT,
        "aspects": OFFLINE,
        "aspect_samples": 3,
        "budget": None,
        "verdicts": 1,
        "shots": 0,
        "example_tables": False,
        "comparator_shots": 0,
        "schema": "auto",
        "longest_cell": None,
        "verdict_schema": False,
    }

    def ask(self, presentation: Presentation, setting: Setting) -> Procedure:
        """Create the table, unless a stored one is shown, and ask for the verdict or the majority of several.

        Raises: UnparsedVerdict if too few tables can be read, or there is no stored one.
        """
        if setting.table_variant and not presentation.table:
            raise UnparsedVerdict(reason("no_table_of_variant", variant=setting.table_variant))
        plan, setting = self.plan(setting), (yield from self.with_example_tables(presentation, setting))
        record = None if setting.table_variant else (yield from self.make(presentation, setting, plan))
        values = {"table": format_table(winning_rows(record) if record else presentation.table or ())}
        single = plan.verdicts == 1
        calls = [
            replace(self.verdict_call(presentation, setting, values, draw=draw, optional=not single), made=record)
            for draw in range(plan.verdicts)
        ]
        if not single:
            calls = [replace(call, params={**call.params, **aspect_lists.SAMPLED}) for call in calls]
        answers = yield calls
        rng = setting.rng(self.name, presentation.identity, presentation.negated)
        outcome = answers[0] if single else majority_of(answers, rng)
        return replace(outcome, made=record)

    def with_example_tables(
        self, presentation: Presentation, setting: Setting
    ) -> Generator[Sequence[Call], list[Any], Setting]:
        """Have the tables of the examples made where they are to be shown, by the same calls for every pair."""
        in_verdict = self.option(setting, "shots") if self.option(setting, "example_tables") else 0
        examples = find_task(presentation.task).examples[: max(in_verdict, self.option(setting, "comparator_shots"))]
        if not examples:
            return setting
        aspects_given = self.option(setting, "aspects")
        aspects = aspects_given if isinstance(aspects_given, list) else find_task(presentation.task).aspects
        pairs = [_pair_of(example, presentation) for example in examples]
        calls = [self.table_call(pair, setting, aspects, 0, optional=True) for pair in pairs]
        tables = yield [replace(call, reusable=True) for call in calls]
        with_tables = [replace(example, table=rows or ()) for example, rows in zip(examples, tables, strict=True)]
        return replace(setting, examples=with_tables)

    def examples(self, presentation: Presentation, setting: Setting) -> Sequence[Example]:
        """Return the examples of the verdict, with their tables on request."""
        examples = (setting.examples or find_task(presentation.task).examples)[: self.option(setting, "shots")]
        has_tables = self.option(setting, "example_tables")
        return examples if has_tables else [replace(example, table=()) for example in examples]

    def make(
        self, presentation: Presentation, setting: Setting, plan: Plan
    ) -> Generator[Sequence[Call], list[Any], Record]:
        """Create the table of a pair, by the same calls in both orders of presentation.

        The texts' order in these calls is derived from the texts.
        """
        texts = (presentation.first, presentation.second)
        first, second = sorted(texts, key=lambda text: sha256(text.encode("utf-8", "surrogatepass")).digest())
        asked_turned = first != presentation.first
        compared = replace(presentation, first=first, second=second)
        aspects, samples = yield from self.draw(compared, setting, plan)
        entrants = [index for index, sample in enumerate(samples) if "rows" in sample]
        lost = [sample["lost"] for sample in samples if "lost" in sample]
        if len(entrants) < min(FEWEST_LEFT, plan.samples):
            raise UnparsedVerdict(reason("tables_unread", number=len(lost), count=plan.samples, why=restored(lost[-1])))
        bracket = yield from self.compare(compared, setting, plan, samples, entrants)
        calls = {
            "aspects": plan.aspect_calls,
            "table": plan.samples,
            "comparator": sum(match["how"] != "bye" for match in bracket.matches),  # fewer where tables were lost
            "verdict": plan.verdicts,
        }
        record: Record = {
            "scheme": plan.scheme,
            "aspects": aspects,
            "samples": samples,
            "budget": plan.budget,
            "left_over": 0 if plan.budget is None else plan.budget - sum(calls.values()),
            "schema": self.uses_schema(setting),
            "asked_first": "a",
            "bracket": list(bracket.matches),
            "wins": [bracket.wins.get(index) for index in range(plan.samples)],
            "coins": bracket.coins,
            "winner": bracket.winner,
            "calls": calls,
        }
        return swap_sides(record) if asked_turned else record

    def draw(
        self, compared: Presentation, setting: Setting, plan: Plan
    ) -> Generator[Sequence[Call], list[Any], tuple[AspectChoice, list[TableSample]]]:
        """Find the aspects and sample the tables."""
        lists = yield from self.find_aspects(compared, setting, plan)
        several = plan.samples > 1
        aspects = lists["chosen"]
        calls = [self.table_call(compared, setting, aspects, draw, optional=several) for draw in range(plan.samples)]
        answers = yield [replace(call, read=_or_why_not(call)) if several else call for call in calls]
        return lists, [_sample(answer) for answer in answers]

    def table_call(
        self, presentation: Presentation, setting: Setting, aspects: Sequence[str], draw: int, *, optional: bool
    ) -> Call:
        """Return the call for one sampled table, by a schema where one is used."""
        form = {"schema": self.uses_schema(setting), "longest": self.option(setting, "longest_cell")}
        return tables.table_call(presentation, setting, aspects, draw, **form, optional=optional)

    def find_aspects(
        self, compared: Presentation, setting: Setting, plan: Plan
    ) -> Generator[Sequence[Call], list[Any], AspectChoice]:
        """Return the aspects that are known beforehand, or the most central one of several sampled lists."""
        option = self.option(setting, "aspects")
        if isinstance(option, list):
            return {"how": "given", "chosen": list(option)}
        if not is_asked_for(option):
            return {"how": "fixed", "chosen": list(find_task(compared.task).aspects)}
        draws = range(plan.aspect_calls)
        lists = yield [aspect_lists.aspect_call(compared, setting, draw, optional=len(draws) > 1) for draw in draws]
        read = [index for index, aspects in enumerate(lists) if aspects is not None]
        if not read:
            raise UnparsedVerdict(reason("aspect_lists_unread", number=len(lists)))
        picked = read[aspect_lists.most_central([lists[index] for index in read])]
        return {"how": "online", "chosen": lists[picked], "lists": lists, "picked": picked}

    def compare(
        self,
        compared: Presentation,
        setting: Setting,
        plan: Plan,
        samples: Sequence[TableSample],
        entrants: Sequence[int],
    ) -> Generator[Sequence[Call], list[Any], Bracket]:
        """Let the comparator decide a scheme's duels, round by round."""
        rng = setting.rng("bracket", compared.source, compared.first, compared.second)
        scheme = SCHEMES[plan.scheme](entrants, rng)
        shots = self.option(setting, "comparator_shots")
        examples, comparisons_made = [item for item in setting.examples[:shots] if item.table], 0
        try:
            duels = next(scheme)
            while True:
                tables = ((samples[duel.first]["rows"], samples[duel.second]["rows"]) for duel in duels)
                # Each duel has its own sample number even if tables are equal.
                decisions = yield [
                    comparator_call(compared, setting, *two, draw=comparisons_made + more, examples=examples)
                    for more, two in enumerate(tables)
                ]
                comparisons_made += len(duels)
                duels = scheme.send([item or Decision(None) for item in decisions])
        except StopIteration as stop:
            bracket: Bracket = stop.value
            return bracket

    def plan(self, setting: Setting) -> Plan:
        """Return the number of calls of each kind for a verdict.

        Raises: BadSettings if a budget is not enough for one table.
        """
        scheme, verdicts = self.option(setting, "scheme"), self.option(setting, "verdicts")
        online = is_asked_for(self.option(setting, "aspects"))
        aspect_calls = self.option(setting, "aspect_samples") if online else 0
        budget, samples = self.option(setting, "budget"), self.option(setting, "samples")
        if budget is not None:
            samples = samples_within(budget, scheme=scheme, other_calls=aspect_calls + verdicts)
        return Plan(scheme, samples, aspect_calls, verdicts, budget)

    def uses_schema(self, setting: Setting) -> bool:
        """Tell whether a JSON schema is sent: by default if the endpoint supports it."""
        option = self.option(setting, "schema")
        return setting.schema if option == "auto" else bool(option)

    def words(self, presentation: Presentation, setting: Setting, fence: str) -> Mapping[str, str]:
        """Format the examples, if any."""
        words = super().words(presentation, setting, fence)
        if not self.shows_examples(setting):
            return words
        has_tables = self.option(setting, "example_tables")
        opening = f"Here is how others have been judged, {'with their tables' if has_tables else 'without a table'}."
        return {**words, "examples": f"{opening}\n\n{words['examples']}\n\nNow it is your turn."}

    def prompt_version(self, task: str, setting: Setting) -> str:
        """Return the versions of all prompts."""
        online, compares = is_asked_for(self.option(setting, "aspects")), self.option(setting, "scheme") != "random"
        files = []
        if not setting.table_variant:
            files += [aspect_lists.PROMPT] if online else []
            files += [tables.prompt_of(task)]
            has_shots = self.option(setting, "comparator_shots")
            files += ([EXAMPLE, FEW_SHOT] if has_shots else [PROMPT]) if compares else []
        if self.shows_examples(setting):
            files.append(EXAMPLE_WITH_TABLE if self.option(setting, "example_tables") else self.example)
        stored = [f"tables-{setting.table_variant}"] if setting.table_variant else []
        versions = [*stored, *(load_prompt(name, setting).version for name in (*files, self.prompt))]
        return "+".join([*versions, *self.form_version(setting), find_task(task).version])

    def check(self, task: str, setting: Setting) -> None:
        """Refuse contradicting options too."""
        super().check(task, setting)
        if setting.table_variant and (odd := [name for name in OF_TABLES if name in setting.options]):
            raise BadSettings(
                f"the tables of variant {setting.table_variant} exist already: leave out {', '.join(odd)}"
            )
        if self.option(setting, "example_tables") and not self.shows_examples(setting):
            raise BadSettings("example_tables needs examples before the verdict: set shots")
        if self.option(setting, "budget") is not None and "samples" in setting.options:
            raise BadSettings("give either samples or a budget")
        plan = self.plan(setting)
        if (comparisons_needed := comparisons(plan.scheme, plan.samples)) > MOST_DUELS:
            raise BadSettings(
                f"{plan.samples} tables take {comparisons_needed:,} comparisons each with each; at most "
                f"{MOST_DUELS} are made"
            )


def _pair_of(example: Example, presentation: Presentation) -> Presentation:
    """Return an example as a pair of the same task."""
    question = example.question or presentation.question
    plain = replace(presentation, question=question, reference="", table=None, identity="")
    return replace(plain, source=example.source.strip(), first=example.first, second=example.second)


def _or_why_not(call: Call) -> Callable[[Reply], TableSample]:
    """Return a reader that gives a table, or the reason why it can't be read.

    A refusal in words is raised, since the engine treats it separately.
    """

    def read(reply: Reply) -> TableSample:
        try:
            return {"rows": call.read(reply)}
        except UnparsedVerdict as error:
            if is_refusal(reply.text):
                raise
            return {"lost": error.reason.stored()}

    return read


def _sample(answer: TableSample | list[TableRow] | None) -> TableSample:
    if answer is None:
        return {"lost": reason("endpoint_declined").stored()}
    return {"rows": answer} if isinstance(answer, list) else answer

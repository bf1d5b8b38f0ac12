"""The SC² judge: tables are drawn, the most consistent one is found, and the choice is made with it."""

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any, ClassVar

from judging.errors import BadSettings, UnparsedVerdict
from judging.judges.base import Call, Presentation, Procedure, Reply, Setting, register
from judging.judges.direct import WithExamples, majority_of
from judging.judges.options import OFFLINE, is_asked_for
from judging.judges.prompts import load_prompt
from judging.judges.sc2 import aspects as aspect_lists
from judging.judges.sc2 import tables
from judging.judges.sc2.bracket import SCHEMES, TOURNAMENT, Bracket, Decision, Duel, comparisons, samples_within
from judging.judges.sc2.comparator import PROMPT as COMPARATOR
from judging.judges.sc2.comparator import comparator_call
from judging.judges.sc2.record import Aspects, Record, Row, Sample, turned, winning_rows
from judging.judges.tasks import Example, find_task

MOST_DUELS = 1000  # of one verdict: as many as a repeat has numbers for samples of one question
FEWEST_LEFT = 2  # tables that must be readable where several were drawn: one alone was compared with nothing


@dataclass(frozen=True)
class Plan:
    """How many calls of which kind a verdict takes."""

    scheme: str
    samples: int
    aspect_calls: int
    verdicts: int
    budget: int | None

    @property
    def calls(self) -> int:
        """All of them, if every answer can be read."""
        return self.aspect_calls + self.samples + comparisons(self.scheme, self.samples) + self.verdicts


@dataclass(frozen=True)
class Drawn:
    """The aspects and the tables of a pair, before any is chosen."""

    aspects: Aspects
    samples: Sequence[Sample]


@register
class StructuredComparison(WithExamples):
    """Draws comparison tables, has the most consistent one found, and chooses with it before its eyes."""

    name = "sc2"
    prompt = "sc2.v1.txt"
    example = "example.v1.txt"
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
        "schema": "auto",
    }

    def ask(self, shown: Presentation, setting: Setting) -> Procedure:
        """Make the table and ask for the verdict; of several verdicts the majority counts.

        Raises: UnparsedVerdict for an empty text, before anything is asked; and if too few tables can be read.
        """
        for place, text in (("first", shown.first), ("second", shown.second)):
            if not text.strip():
                raise UnparsedVerdict(f"the text shown {place} is empty: there is nothing to compare")
        plan = self.plan(setting)
        record = yield from self.make(shown, setting, plan)
        found = {"table": tables.written(winning_rows(record))}
        single = plan.verdicts == 1
        calls = [
            replace(self.verdict_call(shown, setting, found, draw=draw, optional=not single), made=record)
            for draw in range(plan.verdicts)
        ]
        if not single:
            calls = [replace(call, params={**call.params, **aspect_lists.SAMPLED}) for call in calls]
        answers = yield calls
        outcome = answers[0] if single else majority_of(answers, setting.rng(self.name, shown.identity, shown.negated))
        return replace(outcome, made=record)

    def make(self, shown: Presentation, setting: Setting, plan: Plan) -> Generator[Sequence[Call], list[Any], Record]:
        """Make the table of a pair; the same calls whichever text is shown first, so that both orders share one.

        What stands first when tables are asked for is drawn from the texts themselves.
        """
        asked_turned = _hash(shown.first) > _hash(shown.second)
        asked = replace(shown, first=shown.second, second=shown.first) if asked_turned else shown
        drawn = yield from self.draw(asked, setting, plan)
        entrants = [place for place, sample in enumerate(drawn.samples) if "rows" in sample]
        lost = [sample["lost"] for sample in drawn.samples if "lost" in sample]
        if len(entrants) < min(FEWEST_LEFT, plan.samples):
            raise UnparsedVerdict(f"{len(lost)} of {plan.samples} tables could not be read; the last one: {lost[-1]}")
        bracket = yield from self.compare(asked, setting, plan, drawn.samples, entrants)
        record: Record = {
            "scheme": plan.scheme,
            "aspects": drawn.aspects,
            "samples": list(drawn.samples),
            "budget": plan.budget,
            "left_over": 0 if plan.budget is None else plan.budget - self.calls_made(plan, bracket),
            "schema": self.uses_schema(setting),
            "asked_first": "a",
            "bracket": list(bracket.matches),
            "wins": [bracket.wins.get(place) for place in range(plan.samples)],
            "coins": bracket.coins,
            "winner": bracket.winner,
            "calls": {
                "aspects": plan.aspect_calls,
                "table": plan.samples,
                "comparator": _held(bracket),
                "verdict": plan.verdicts,
            },
        }
        return turned(record) if asked_turned else record

    def draw(self, asked: Presentation, setting: Setting, plan: Plan) -> Generator[Sequence[Call], list[Any], Drawn]:
        """Find the aspects and draw the tables."""
        found = yield from self.find_aspects(asked, setting, plan)
        several = plan.samples > 1
        calls = [
            tables.table_call(
                asked,
                found["chosen"],
                draw,
                schema=self.uses_schema(setting),
                optional=several,
            )
            for draw in range(plan.samples)
        ]
        answers = yield [replace(call, read=_or_why_not(call)) if several else call for call in calls]
        return Drawn(found, [_sample(answer) for answer in answers])

    def find_aspects(
        self, asked: Presentation, setting: Setting, plan: Plan
    ) -> Generator[Sequence[Call], list[Any], Aspects]:
        """Return the aspects that are known beforehand, or those of a list that most agrees with the others drawn."""
        given = self.option(setting, "aspects")
        if isinstance(given, list):
            return {"how": "given", "chosen": list(given)}
        if not is_asked_for(given):
            return {"how": "fixed", "chosen": list(find_task(asked.task).aspects)}
        several = plan.aspect_calls > 1
        lists = yield [aspect_lists.aspect_call(asked, draw, optional=several) for draw in range(plan.aspect_calls)]
        read = [place for place, one in enumerate(lists) if one is not None]
        if not read:
            raise UnparsedVerdict(f"none of {len(lists)} lists of aspects could be read")
        picked = read[aspect_lists.most_agreeable([lists[place] for place in read])]
        return {"how": "online", "chosen": lists[picked], "lists": lists, "picked": picked}

    def compare(
        self, asked: Presentation, setting: Setting, plan: Plan, samples: Sequence[Sample], entrants: Sequence[int]
    ) -> Generator[Sequence[Call], list[Any], Bracket]:
        """Have the comparator decide the duels of a scheme, round by round."""
        rng = setting.rng("bracket", asked.source, asked.first, asked.second)
        scheme = SCHEMES[plan.scheme](entrants, rng)
        held = 0
        try:
            duels = next(scheme)
            while True:
                decisions = yield [self.duel_call(asked, samples, duel, held + more) for more, duel in enumerate(duels)]
                held += len(duels)
                duels = scheme.send([one or Decision(None) for one in decisions])
        except StopIteration as stop:
            bracket: Bracket = stop.value
            return bracket

    def duel_call(self, asked: Presentation, samples: Sequence[Sample], duel: Duel, number: int) -> Call:
        """Ask which of two tables is the more consistent one; a question of its own even where tables are the same."""
        return comparator_call(asked, samples[duel.first]["rows"], samples[duel.second]["rows"], draw=number)

    def plan(self, setting: Setting) -> Plan:
        """Work out how many calls of each kind a verdict takes.

        Raises: BadSettings if a budget is not enough for one table.
        """
        scheme, verdicts = self.option(setting, "scheme"), self.option(setting, "verdicts")
        online = is_asked_for(self.option(setting, "aspects"))
        aspect_calls = self.option(setting, "aspect_samples") if online else 0
        budget, samples = self.option(setting, "budget"), self.option(setting, "samples")
        if budget is not None:
            samples = samples_within(budget, scheme=scheme, others=aspect_calls + verdicts)
        return Plan(scheme, samples, aspect_calls, verdicts, budget)

    def calls_made(self, plan: Plan, bracket: Bracket) -> int:
        """Count the calls of a verdict: fewer than planned where tables were lost."""
        return plan.aspect_calls + plan.samples + _held(bracket) + plan.verdicts

    def uses_schema(self, setting: Setting) -> bool:
        """Tell whether tables are asked for with a JSON schema: by default where the endpoint keeps to one."""
        wanted = self.option(setting, "schema")
        return setting.schema if wanted == "auto" else bool(wanted)

    def examples(self, shown: Presentation, setting: Setting) -> Sequence[Example]:
        """Return as many of the task's examples as were asked for."""
        return find_task(shown.task).examples[: self.option(setting, "shots")]

    def words(self, shown: Presentation, setting: Setting, fence: str) -> Mapping[str, str]:
        """Write out the examples, if any."""
        words = dict(super().words(shown, setting, fence))
        if not self.shows_examples(setting):
            return words
        opening = "Here is how others have been judged, without a table."
        return {**words, "examples": f"{opening}\n\n{words['examples']}\n\nNow it is your turn."}

    def prompt_version(self, task: str, setting: Setting) -> str:
        """Name the files of all questions that are asked."""
        online = is_asked_for(self.option(setting, "aspects"))
        files = [
            *([aspect_lists.PROMPT] if online else []),
            tables.PROMPT,
            *([COMPARATOR] if self.option(setting, "scheme") != "random" else []),
            *([self.example] if self.shows_examples(setting) else []),
            self.prompt,
        ]
        return "+".join([*(load_prompt(name).version for name in files), find_task(task).version])

    def check(self, task: str, setting: Setting) -> None:
        """Refuse options that contradict each other as well."""
        super().check(task, setting)
        if self.option(setting, "budget") is not None and "samples" in setting.options:
            raise BadSettings("give either samples or a budget: the budget says how many samples there are")
        plan = self.plan(setting)
        if (held := comparisons(plan.scheme, plan.samples)) > MOST_DUELS:
            raise BadSettings(
                f"{plan.samples} tables take {held:,} comparisons each with each; at most {MOST_DUELS} are made"
            )


def _or_why_not(call: Call) -> Callable[[Reply], Sample]:
    """Read a table, or why it can't be read: one of several samples is lost then, and no more."""

    def read(reply: Reply) -> Sample:
        try:
            return {"rows": call.read(reply)}
        except UnparsedVerdict as error:
            return {"lost": str(error)}

    return read


def _sample(answer: Sample | list[Row] | None) -> Sample:
    if answer is None:
        return {"lost": "the endpoint declined to answer"}
    return {"rows": answer} if isinstance(answer, list) else answer


def _held(bracket: Bracket) -> int:
    """Count the calls of the comparator: a bye takes none."""
    return sum(match["how"] != "bye" for match in bracket.matches)


def _hash(text: str) -> bytes:
    return sha256(text.encode("utf-8", "surrogatepass")).digest()

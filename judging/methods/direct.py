"""Judges that compare first and then choose (Rafailov et al. 2023, appendix on win rates, and its descendants)."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from random import Random
from typing import Any, ClassVar

from annotation.core.reasons import reason
from judging.core.errors import BadSettings, UnparsedVerdict
from judging.methods.base import Call, Outcome, Presentation, Procedure, Reply, Setting, register
from judging.methods.options import FIXED, MOST_ASPECTS, MOST_SHOTS, is_asked_for
from judging.methods.parsing.answers import answer_lines
from judging.methods.prompted import Preparation, PromptedMethod, outcome_of, plain_call
from judging.methods.prompts import load_prompt
from judging.methods.task_files import Example, bulleted, find_task, words_for
from judging.methods.together import example_together, own_verdict, reader_together, schema_together, words_together
from judging.methods.verdict_schema import in_schema

LONGEST_ASPECT = 200
EXAMPLE_WITH_TABLE = "example-table.v1.txt"


@register
class Direct(PromptedMethod):
    """Compares in one sentence and then chooses."""

    name = "direct"
    prompt = "direct.v1.txt"
    prompt_together = "direct-together.v1.txt"
    own_wording = True
    options: ClassVar[Mapping[str, Any]] = {**PromptedMethod.options, "together": False}

    def ask(self, presentation: Presentation, setting: Setting) -> Procedure:
        """Ask for the verdict. Where several questions are asked in one call, take this one's from the answer.

        Raises: UnparsedVerdict if the answer has none on this question
        """
        if not presentation.together:
            return (yield from super().ask(presentation, setting))
        [answers] = yield [self.call_together(presentation, setting)]
        parsed = own_verdict(presentation, answers)
        return outcome_of(parsed.letter, presentation.negated, rationale=parsed.rationale)

    def call_together(self, presentation: Presentation, setting: Setting) -> Call:
        """Return the call with all questions. It is the same for each of them."""
        first, letters = presentation.together[0], self.offer(presentation, setting).letters
        words = words_for(replace(presentation, task=first.task, question=first.question)) | self.answer_words(setting)
        words |= words_together(presentation, words["letters"])
        content = load_prompt(self.prompt_together, setting).render(words, presentation.texts)
        read, example = reader_together(presentation, letters), example_together(len(presentation.together))
        call = Call("verdict", [{"role": "user", "content": content}], read, example=example)
        if not self.uses_verdict_schema(setting):
            return call
        return in_schema(call, words["letters"], schema_together(len(presentation.together), letters))

    def version_of(self, presentation: Presentation, setting: Setting) -> str:
        """Return the version of the prompt with all questions, where they are asked in one call."""
        if not presentation.together:
            return super().version_of(presentation, setting)
        tasks = dict.fromkeys(find_task(member.task).version for member in presentation.together)
        prompt = load_prompt(self.prompt_together, setting)
        return "+".join([prompt.version, *self.form_version(setting), *tasks])

    def check(self, task: str, setting: Setting) -> None:
        """Refuse what the questions of one call can't have."""
        super().check(task, setting)
        if not self.option(setting, "together"):
            return
        if setting.wording:
            raise BadSettings("a prompt file of your own asks one question: leave out together")
        if self.option(setting, "logprobs") or self.option(setting, "tie_below"):
            raise BadSettings("several questions in one call have no probabilities: leave out logprobs and tie_below")


@register
class ChainOfThought(PromptedMethod):
    """Compares step by step and then chooses."""

    name = "cot"
    prompt = "cot.v1.txt"
    own_wording = True


class WithAspects(PromptedMethod):
    """Compares under aspects: the task's own five, a given list, or aspects that the model generates for the pair."""

    options: ClassVar[Mapping[str, Any]] = {**PromptedMethod.options, "aspects": FIXED}

    def prepare(self, presentation: Presentation, setting: Setting) -> Preparation:
        """Ask for the aspects if they are generated. As model output they are fenced."""
        if not is_asked_for(self.option(setting, "aspects")):
            return {}
        [aspects] = yield [plain_call("aspects", "aspects.v1.txt", presentation, setting, read_aspects)]
        return {"aspects": bulleted(aspects)}

    def words(self, presentation: Presentation, setting: Setting, fence: str) -> Mapping[str, str]:
        """Return the aspects that are known beforehand: the given ones, or the task's."""
        aspects = self.option(setting, "aspects")
        if is_asked_for(aspects):
            return {}
        return {"aspects": bulleted(aspects if isinstance(aspects, list) else find_task(presentation.task).aspects)}

    def prompt_version(self, task: str, setting: Setting) -> str:
        """Include the version of the aspects prompt if they are generated."""
        version = super().prompt_version(task, setting)
        is_asked = is_asked_for(self.option(setting, "aspects"))
        return f"{load_prompt('aspects.v1.txt', setting).version}+{version}" if is_asked else version


@register
class DirectWithAspects(WithAspects):
    """Compares under given aspects and then chooses."""

    name = "direct-aspects"
    prompt = "direct-aspects.v1.txt"


class WithExamples(PromptedMethod):
    """Shows examples with their answers before the pair (few-shot)."""

    example: ClassVar[str]

    def examples(self, presentation: Presentation, setting: Setting) -> Sequence[Example]:
        """Return the task's first examples: as many as the option `shots` says, one without this option."""
        shots, own_examples = self.option(setting, "shots"), self.option(setting, "examples")
        if setting.examples:
            return setting.examples[:shots]
        if own_examples:
            examples = [Example(**item, comparison=f"Most raters prefer {item['better']}.") for item in own_examples]
            return examples[:shots]
        return find_task(presentation.task).examples[: 1 if shots is None else shots]

    def further_texts(self, presentation: Presentation, setting: Setting) -> Sequence[str]:
        """Return the examples' texts."""
        return [text for example in self.examples(presentation, setting) for text in example.texts.values()]

    def shows_examples(self, setting: Setting) -> bool:
        """Tell whether examples are shown. Methods with the option `shots` may show none."""
        return bool(self.option(setting, "shots") != 0)

    def words(self, presentation: Presentation, setting: Setting, fence: str) -> Mapping[str, str]:
        """Format the examples, each with its answer to the pair's question."""
        examples = self.examples(presentation, setting) if self.shows_examples(setting) else []
        written = [self.written(presentation, number, example, fence) for number, example in enumerate(examples, 1)]
        return {**super().words(presentation, setting, fence), "examples": "\n\n".join(written)}

    def written(self, presentation: Presentation, number: int, example: Example, fence: str) -> str:
        """Format one example."""
        words = words_for(replace(presentation, question=example.question or presentation.question))
        words |= {
            "number": str(number),
            "comparison": example.comparison,
            "verdict": example.answer(negated=presentation.negated),
            "aspects": bulleted(find_task(presentation.task).aspects),
        }
        prompt = load_prompt(EXAMPLE_WITH_TABLE if example.table else self.example)
        return prompt.render(words, example.texts, fence=fence).strip()

    def prompt_version(self, task: str, setting: Setting) -> str:
        """Include the version of the examples' prompt if any are shown."""
        version = super().prompt_version(task, setting)
        return f"{load_prompt(self.example).version}+{version}" if self.shows_examples(setting) else version


@register
class ChainOfThoughtOneShot(WithExamples, WithAspects):
    """Is shown an example with its aspects and its answer, then compares step by step under aspects and chooses."""

    name = "cot-1shot"
    prompt = "cot-1shot.v1.txt"
    example = "example-aspects.v1.txt"


@register
class FewShot(WithExamples):
    """Is shown up to five examples with their answers, then compares and chooses.

    examples : those to be shown; the task's own when empty
    """

    name = "few-shot"
    prompt = "few-shot.v1.txt"
    example = "example.v1.txt"
    options: ClassVar[Mapping[str, Any]] = {**PromptedMethod.options, "shots": 3, "examples": []}

    def check(self, task: str, setting: Setting) -> None:
        """Refuse zero shots."""
        super().check(task, setting)
        if not self.shows_examples(setting):
            raise BadSettings(f"shots is a whole number from 1 to {MOST_SHOTS} for method {self.name}, got 0")


@register
class SelfConsistency(WithExamples):
    """Samples several step-by-step comparisons, with optional examples, and takes the majority's verdict.

    Draws that can't be read are left out; a verdict is drawn among those that tie for most, from the judge's seed.
    """

    name = "self-consistency"
    prompt = "cot.v1.txt"
    with_examples = "cot-few-shot.v1.txt"
    example = "example.v1.txt"
    default_params: ClassVar[Mapping[str, Any]] = {"temperature": 0.7}
    options: ClassVar[Mapping[str, Any]] = {"ties": False, "samples": 8, "shots": 0, "verdict_schema": False}

    def prompt_of(self, setting: Setting) -> str:
        """Return the prompt file, with a placeholder for examples if any are shown."""
        return self.with_examples if self.shows_examples(setting) else self.prompt

    def ask(self, presentation: Presentation, setting: Setting) -> Procedure:
        """Sample verdicts concurrently and take the majority."""
        draws = range(self.option(setting, "samples"))
        answers = yield [self.verdict_call(presentation, setting, {}, draw=draw, optional=True) for draw in draws]
        return majority_of(answers, setting.rng(self.name, presentation.identity, presentation.negated))


def majority_of(answers: Sequence[Outcome | None], rng: Random) -> Outcome:
    """Return an outcome with the majority verdict. Ties are broken at random.

    Raises: UnparsedVerdict if none could be read.
    """
    read = [answer for answer in answers if answer is not None]
    if not read:
        raise UnparsedVerdict(reason("no_verdict_of_samples", number=len(answers)))
    counts = Counter(outcome.verdict for outcome in read)
    winners = sorted(verdict for verdict, count in counts.items() if count == max(counts.values()))
    verdict = rng.choice(winners)
    return next(outcome for outcome in read if outcome.verdict == verdict)


def read_aspects(reply: Reply) -> list[str]:
    """Parse a list of aspects, one a line after a dash or a number.

    Raises: UnparsedVerdict if there is no such line.
    """
    marks = ("-", "*", "•", *(f"{number}{mark}" for number in range(1, MOST_ASPECTS + 1) for mark in ".)"))
    lines = [line.strip() for line in answer_lines(reply.text)]
    marked = [(mark, line) for line in lines for mark in marks if line.startswith(mark)]
    aspects = [line.removeprefix(mark).strip(" *_")[:LONGEST_ASPECT] for mark, line in marked]
    if not any(aspects):
        raise UnparsedVerdict(reason("no_aspects_in", text=reply.text[-200:]))
    return [aspect for aspect in aspects if aspect][:MOST_ASPECTS]

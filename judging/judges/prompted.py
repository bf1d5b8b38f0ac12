"""Methods that end in one question which shows both texts: a prompt file, what may be answered, a parser."""

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import replace
from functools import cache, lru_cache
from typing import Any, ClassVar

from analysis.types import Verdict
from judging.errors import BadSettings
from judging.judges.base import AskingMethod, Call, Outcome, Presentation, Procedure, Reply, Setting
from judging.judges.logprobs import shares_of
from judging.judges.options import check_options
from judging.judges.parsers import FIRST, SECOND, TIE, VERSION, Offer, Said, find_parser
from judging.judges.prompts import PAIR, Prompt, load_prompt, make_prompt
from judging.judges.tasks import find_task, words_for

VERDICTS = {FIRST: Verdict.A, SECOND: Verdict.B, TIE: Verdict.TIE}
TOP_LOGPROBS = 20
WITH_LOGPROBS = {"logprobs": True, "top_logprobs": TOP_LOGPROBS}
# A researcher's own wording may start its verdict line with one of these.
NEUTRAL = ("verdict", "choice", "answer", "decision")

# Makes calls first and returns what the last one shows besides the two texts, by placeholder.
Preparation = Generator[Sequence[Call], list[Any], Mapping[str, str]]


class PromptedMethod(AskingMethod):
    """Asks which of the two texts is better, after the calls of `prepare`, if there are any.

    prompt      : file of the question that shows both texts
    further     : files of the questions before it
    parser      : how its answer is read
    own_wording : a researcher's prompt file may stand in for `prompt`
    """

    prompt: ClassVar[str]
    further: ClassVar[tuple[str, ...]] = ()
    parser: ClassVar[str] = "verdict-line"
    own_wording: ClassVar[bool] = False
    parser_version = VERSION
    options: ClassVar[Mapping[str, Any]] = {"ties": False, "logprobs": False}

    def ask(self, shown: Presentation, setting: Setting) -> Procedure:
        """Prepare, ask for the verdict, and turn it around if the question was negated."""
        found = yield from self.prepare(shown, setting)
        [outcome] = yield [self.verdict_call(shown, setting, found)]
        return replace(outcome, rationale=outcome.rationale or self.reasons(found))

    def prepare(self, shown: Presentation, setting: Setting) -> Preparation:
        """Make the calls that the question builds on; by default none."""
        yield from ()
        return {}

    def reasons(self, found: Mapping[str, str]) -> str:
        """Return what stands as the rationale of a choice without one; by default nothing."""
        return ""

    def verdict_call(
        self, shown: Presentation, setting: Setting, found: Mapping[str, str], *, draw: int = 0, optional: bool = False
    ) -> Call:
        """Return the question that shows both texts; its answer is read as an outcome."""
        prompt = self.question(shown, setting)
        texts = {"source": shown.source, "first": shown.first, "second": shown.second, **found}
        fence = prompt.fence_of(texts, *self.further_texts(shown, setting))
        words = {**words_for(shown), **self.answer_words(setting), **self.words(shown, setting, fence)}
        content = prompt.render(words, texts, fence=fence)
        return Call(
            kind="verdict",
            messages=[{"role": "user", "content": content}],
            read=self.reader(shown, setting),
            params=self.params(setting),
            draw=draw,
            optional=optional,
        )

    def answer_words(self, setting: Setting) -> dict[str, str]:
        """Say which letters are on offer."""
        if self.ties(setting):
            return {"offer": "the letter A, the letter B, or the letter C for a tie", "letters": "A, B or C"}
        return {"offer": "the letter A or the letter B", "letters": "A or B"}

    def words(self, shown: Presentation, setting: Setting, fence: str) -> Mapping[str, str]:
        """Return further words of ours for the question; by default none."""
        return {}

    def further_texts(self, shown: Presentation, setting: Setting) -> Sequence[str]:
        """Return texts that stand between fences within `words`; by default none."""
        return ()

    def params(self, setting: Setting) -> Mapping[str, Any]:
        """Return what goes into the request body besides the messages."""
        return WITH_LOGPROBS if self.option(setting, "logprobs") else {}

    def ties(self, setting: Setting) -> bool:
        """Tell whether a tie is on offer."""
        return bool(self.option(setting, "ties"))

    def option(self, setting: Setting, name: str) -> Any:
        """Return an option as it was set, or its default; `None` for one that the method doesn't have."""
        return setting.options.get(name, self.options.get(name))

    def reader(self, shown: Presentation, setting: Setting) -> Callable[[Reply], Outcome]:
        """Return what makes an outcome of the answer."""
        read = find_parser(setting.wording_parser if setting.wording else self.parser)
        offer = offer_for(shown.task, shown.negated, self.ties(setting), bool(setting.wording))
        logprobs = bool(self.option(setting, "logprobs"))

        def outcome(reply: Reply) -> Outcome:
            said = read(reply, offer)
            p_second = p_second_in(reply, said, offer) if logprobs else None
            return outcome_of(said.letter, shown.negated, rationale=said.rationale, p_second=p_second)

        return outcome

    def question(self, shown: Presentation, setting: Setting) -> Prompt:
        """Return the wording of the question: a researcher's own, or the method's."""
        if not setting.wording:
            return load_prompt(self.prompt_of(setting))
        prompt = own_prompt(setting.wording, setting.wording_version)
        if shown.negated and not takes_negation(prompt):
            raise BadSettings(f"prompt {prompt.version} has no $criterion: it can't ask the negated question")
        return prompt

    def prompt_of(self, setting: Setting) -> str:
        """Return the file of the question that shows both texts."""
        return self.prompt

    def prompt_version(self, task: str, setting: Setting) -> str:
        """Name the files with their versions, as `direct.v1+summarization.v1`; for an own wording its parser as well."""
        asked = load_prompt(self.prompt_of(setting)).version
        if setting.wording:
            asked = f"{own_prompt(setting.wording, setting.wording_version).version}:{setting.wording_parser}"
        return "+".join([*(load_prompt(name).version for name in self.further), asked, find_task(task).version])

    def check(self, task: str, setting: Setting) -> None:
        """Refuse what can't be asked: an unknown task or option, a wording that lacks a text or has no parser."""
        check_options(setting.options, self.options)
        if setting.wording:
            if not self.own_wording:
                raise BadSettings(f"method {self.name} takes no prompt file: its question is part of a procedure")
            check_wording(setting.wording, setting.wording_parser, version=setting.wording_version)
        self.prompt_version(task, setting)


@cache
def offer_for(task: str, negated: bool, ties: bool, own_wording: bool = False) -> Offer:
    """Return what an answer to a task's question may say. A label of the other question is none."""
    usual = ("worse",) if negated else ("preferred", "better")
    label = find_task(task).asked(negated).choice.lower()
    return Offer(tuple(dict.fromkeys([label, *usual, *(NEUTRAL if own_wording else ())])), ties)


def outcome_of(letter: str, negated: bool, *, rationale: str = "", p_second: float | None = None) -> Outcome:
    """Make the outcome of the letter that was named; in a negated question that is the text not preferred."""
    verdict = VERDICTS[letter]
    if not negated:
        return Outcome(verdict, rationale, p_second)
    return Outcome(Verdict(-verdict), rationale, None if p_second is None else 1 - p_second)


def p_second_in(reply: Reply, said: Said, offer: Offer) -> float | None:
    """Return the share of the second letter in the probability of all letters on offer; a tie is half of each side."""
    shares = shares_of(reply.response, said.letter, offer.letters)
    if shares is None:
        return None
    return shares[SECOND] + shares.get(TIE, 0.0) / 2


@lru_cache(maxsize=64)  # whoever writes one has it checked again and again
def own_prompt(text: str, version: str) -> Prompt:
    """Return a researcher's wording as a prompt that shows both texts.

    Raises: BadSettings naming placeholders that it lacks or that nothing fills.
    """
    return make_prompt(version or "own", text, required=PAIR)


def takes_negation(prompt: Prompt) -> bool:
    """Tell whether a wording leaves what is to be decided to the task, which knows the negated question as well."""
    return "criterion" in prompt.placeholders


def check_wording(text: str, parser: str, *, version: str = "", negated: bool = False) -> None:
    """Refuse a researcher's wording that could not be asked or read: for whoever stores one, before any call is made.

    Raises: BadSettings saying what is missing.
    """
    find_parser(parser)
    prompt = own_prompt(text, version)
    if odd := prompt.placeholders - OWN_PLACEHOLDERS:
        raise BadSettings(
            f"prompt {prompt.version}: nothing fills ${', $'.join(sorted(odd))} in a prompt file of your own"
        )
    if negated and not takes_negation(prompt):
        raise BadSettings(f"prompt {prompt.version} has no $criterion: it can't ask the negated question")


# What a researcher's wording may hold: the two texts and the source, and the words of the task.
OWN_PLACEHOLDERS = PAIR | {
    *("question", "source_label", "label", "one", "many", "rules"),
    *("intro", "criterion", "choice", "chosen", "offer", "letters"),
}

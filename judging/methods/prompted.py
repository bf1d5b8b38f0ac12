"""Methods that end in one call that shows both texts: a prompt file, an offer, a parser."""

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any, ClassVar

from analysis.types import Verdict
from judging.core.errors import BadSettings
from judging.methods.base import AskingMethod, Call, Outcome, Presentation, Procedure, Reply, Setting, with_ties
from judging.methods.options import check_options
from judging.methods.own_wording import SCORE, ask_steps, own_wording, said_before
from judging.methods.parsing.logprobs import shares_of
from judging.methods.parsing.parsers import FIRST, NEUTRAL, SECOND, TIE, VERSION, Offer, find_parser
from judging.methods.prompts import Prompt, load_prompt
from judging.methods.task_files import CRITERION, find_task, words_for
from judging.methods.verdict_schema import PROMPT as SCHEMA_PROMPT
from judging.methods.verdict_schema import in_schema, schema_reader, verdict_schema

VERDICTS = {FIRST: Verdict.A, SECOND: Verdict.B, TIE: Verdict.TIE}
TOP_LOGPROBS = 20
WITH_LOGPROBS = {"logprobs": True, "top_logprobs": TOP_LOGPROBS}

# Makes calls and returns what the last call shows besides the two texts, by placeholder.
Preparation = Generator[Sequence[Call], list[Any], Mapping[str, str]]


def plain_call(
    kind: str,
    prompt: str,
    presentation: Presentation,
    setting: Setting,
    read: Callable[[Reply], Any],
    *,
    texts: Mapping[str, str] | None = None,
    **more: Any,
) -> Call:
    """Return a call with the words of the plain question, whose answer thus serves the negated one too.

    prompt : name of the prompt file
    texts  : what it shows besides the presentation's texts, fenced, by placeholder
    more   : further arguments of `Call`
    """
    words = words_for(replace(presentation, negated=False))
    content = load_prompt(prompt, setting).render(words, {**presentation.texts, **(texts or {})})
    return Call(kind, [{"role": "user", "content": content}], read, **more)


class PromptedMethod(AskingMethod):
    """Asks which of the two texts is better, after the calls of `prepare`, if any.

    prompt      : prompt file of the call that shows both texts
    further     : prompt files of earlier calls
    parser      : name of the parser
    own_wording : a researcher's prompt file may replace `prompt`
    """

    prompt: ClassVar[str]
    further: ClassVar[tuple[str, ...]] = ()
    parser: ClassVar[str] = "verdict-line"
    own_wording: ClassVar[bool] = False
    parser_version = VERSION
    options: ClassVar[Mapping[str, Any]] = {"ties": False, "logprobs": False, "tie_below": 0, "verdict_schema": False}

    def ask(self, presentation: Presentation, setting: Setting) -> Procedure:
        """Prepare, and ask for the verdict."""
        values = yield from self.prepare(presentation, setting)
        [outcome] = yield [self.verdict_call(presentation, setting, values)]
        reasons = said_before(values) if setting.wording else self.reasons(values)
        explained: Outcome = replace(outcome, rationale=outcome.rationale or reasons)
        return explained

    def prepare(self, presentation: Presentation, setting: Setting) -> Preparation:
        """Make the calls before the verdict, by default those of a researcher's wording."""
        if not setting.wording:
            return {}
        return (yield from ask_steps(presentation, setting, self.answer_words(setting)))

    def reasons(self, values: Mapping[str, str]) -> str:
        """Return the rationale for an answer without one, by default an empty text."""
        return ""

    def verdict_call(
        self,
        presentation: Presentation,
        setting: Setting,
        values: Mapping[str, str],
        *,
        draw: int = 0,
        optional: bool = False,
    ) -> Call:
        """Return the call that shows both texts, read as an outcome."""
        prompt, texts = self.question(presentation, setting), {**presentation.texts, **values}
        fence = prompt.fence_of(texts, *self.further_texts(presentation, setting))
        words = {**words_for(presentation), **self.answer_words(setting), **self.words(presentation, setting, fence)}
        content = prompt.render(words, texts, fence=fence)
        call = Call(
            kind="verdict",
            messages=[{"role": "user", "content": content}],
            read=self.reader(presentation, setting),
            params=self.params(setting),
            draw=draw,
            optional=optional,
        )
        if not self.uses_verdict_schema(setting):
            return call
        schema = verdict_schema(self.offer(presentation, setting).letters, reasons=self.parser != "letter")
        return in_schema(call, words["letters"], schema)

    def uses_verdict_schema(self, setting: Setting) -> bool:
        """Tell whether the verdict is asked for by a JSON schema."""
        option = self.option(setting, "verdict_schema")
        return setting.verdict_schema if option == "auto" else bool(option)

    def answer_words(self, setting: Setting) -> dict[str, str]:
        """Return the words for the letters on offer."""
        if self.ties(setting):
            return {"offer": "the letter A, the letter B, or the letter C for a tie", "letters": "A, B or C"}
        return {"offer": "the letter A or the letter B", "letters": "A or B"}

    def words(self, presentation: Presentation, setting: Setting, fence: str) -> Mapping[str, str]:
        """Return further words for the prompt, by default none."""
        return {}

    def further_texts(self, presentation: Presentation, setting: Setting) -> Sequence[str]:
        """Return the fenced texts within `words`, by default none."""
        return ()

    def params(self, setting: Setting) -> Mapping[str, Any]:
        """Return the request parameters of the call."""
        return WITH_LOGPROBS if self.option(setting, "logprobs") else {}

    def ties(self, setting: Setting) -> bool:
        """Tell whether a tie is on offer."""
        return bool(self.option(setting, "ties"))

    def option(self, setting: Setting, name: str) -> Any:
        """Return an option's value or default, or `None` if the method doesn't have it."""
        return setting.options.get(name, self.options.get(name))

    def reader(self, presentation: Presentation, setting: Setting) -> Callable[[Reply], Outcome]:
        """Return the function that reads a reply as an outcome."""
        read = find_parser(setting.wording_parser if setting.wording else self.parser)
        if self.uses_verdict_schema(setting):
            read = schema_reader(read)
        offer = self.offer(presentation, setting)
        logprobs = bool(self.option(setting, "logprobs"))

        def outcome(reply: Reply) -> Outcome:
            parsed = read(reply, offer)
            judged = outcome_of(parsed.letter, presentation.negated, rationale=parsed.rationale)
            return with_ties(with_probability(judged, reply, parsed.letter, offer) if logprobs else judged, setting)

        return outcome

    def offer(self, presentation: Presentation, setting: Setting) -> Offer:
        """Return the verdicts on offer."""
        return offer_for(presentation.task, presentation.negated, self.ties(setting), bool(setting.wording))

    def question(self, presentation: Presentation, setting: Setting) -> Prompt:
        """Return the prompt: a researcher's own, or the method's."""
        if setting.wording:
            return last_of_wording(setting, presentation.negated)
        return load_prompt(self.prompt_of(setting), setting)

    def prompt_of(self, setting: Setting) -> str:
        """Return the prompt file of the call that shows both texts."""
        return self.prompt

    def prompt_version(self, task: str, setting: Setting) -> str:
        """Return the versions of all prompt files, as `direct.v1+summarization.v1`. An own prompt adds its parser."""
        version = load_prompt(self.prompt_of(setting), setting).version
        if setting.wording:
            version = f"{setting.wording_version or 'own'}:{setting.wording_parser}"
        further = (load_prompt(name, setting).version for name in self.further)
        return "+".join([*further, version, *self.form_version(setting), find_task(task).version])

    def form_version(self, setting: Setting) -> list[str]:
        """Return the version of the words for a JSON schema, where one is used."""
        return [load_prompt(SCHEMA_PROMPT).version] if self.uses_verdict_schema(setting) else []

    def check(self, task: str, setting: Setting) -> None:
        """Refuse unknown tasks and options, and invalid prompts."""
        check_options(setting.options, self.options)
        if setting.wording:
            if not self.own_wording:
                raise BadSettings(f"method {self.name} takes no prompt file: its question is part of a procedure")
            if setting.wording_parser == SCORE:
                raise BadSettings(f"parser {SCORE} reads the score of one text: choose method pointwise")
            check_wording(setting.wording, setting.wording_parser, version=setting.wording_version, task=task)
        self.prompt_version(task, setting)


@cache
def offer_for(task: str, negated: bool, ties: bool, own_wording: bool = False) -> Offer:
    """Return the offer for a task's question. Labels of the opposite question are not accepted."""
    usual = ("worse",) if negated else ("preferred", "better")
    label = find_task(task).asked(negated).choice.lower()
    return Offer(tuple(dict.fromkeys([label, *usual, *(NEUTRAL if own_wording else ())])), ties, negated)


def outcome_of(letter: str, negated: bool, *, rationale: str = "") -> Outcome:
    """Return the outcome for a letter. In a negated question the named text is the one not preferred."""
    verdict = VERDICTS[letter]
    return Outcome(Verdict(-verdict) if negated else verdict, rationale)


def with_probability(outcome: Outcome, reply: Reply, letter: str, offer: Offer) -> Outcome:
    """Return an outcome with the second letter's share of the probability of all letters on offer.

    A tie counts half for each side. Without most of the probability on the letters there is none.
    """
    shares = shares_of(reply.response, letter, offer.letters)
    if shares is None or shares.is_noise:
        return replace(outcome, token_mass=None if shares is None else shares.mass)
    p_second = shares.of[SECOND] + shares.of.get(TIE, 0.0) / 2
    return replace(outcome, p_second=1 - p_second if offer.negated else p_second, token_mass=shares.mass)


def last_of_wording(setting: Setting, negated: bool, *, of_one: bool = False) -> Prompt:
    """Return the last call of a researcher's wording.

    Raises: BadSettings for the negated question, where it takes no criterion from the task, which has one for it too
    """
    wording = own_wording(setting.wording, setting.wording_version, of_one=of_one, stable_fence=setting.texts_first)
    if negated and "criterion" not in wording.last.placeholders:
        raise BadSettings(f"prompt {wording.last.version} has no $criterion: it can't ask the negated question")
    return wording.last


def check_wording(text: str, parser: str, *, version: str = "", negated: bool = False, task: str = "") -> None:
    """Refuse a researcher's prompt that can't be rendered or parsed, or asks the same whatever the question of a study.

    Raises: BadSettings with the reason.
    """
    if parser != SCORE:
        find_parser(parser)
    setting = Setting(wording=text, wording_version=version)
    last = last_of_wording(setting, negated, of_one=parser == SCORE)
    if task == CRITERION and not {"criterion", "question"} & last.placeholders:
        raise BadSettings(
            f"prompt {last.version} has neither $criterion nor $question: it can ask the main question only"
        )

"""Words behind a verdict that take it back, or name another letter as the answer."""

import re
from dataclasses import dataclass
from functools import cached_property

from judging.methods.parsing.answers import CITES, any_of

# Words that take back the verdict before them. Compiled by `re` when the first answer is read.
TAKEN_BACK = (
    r"(?i)(?:^|[.!?…]\s|[(\n])[\s*_>#-]{0,9}(?:hold on|hang on|apologies|oops|whoops|nope|rather\b(?! than)|strike|edit:|erratum|update:|upon\b"
    r"|on (?:second|reflection|closer|further)|looking again|after (?:re|further|a second|another)"
    r"|re-?(?:reading|checking|considering|evaluating|examining|reviewing|thinking)|but wait|alternatively"
    r"|let(?:['’]s| me| us) (?:re|double|check|correct|fix|think|look|verify|compare|see))"
    r"|(?:^|[.!?…:;,—–-]\s|[(\n])[\s*_>#-]{0,9}(?:wait|actually|hmm*|correction|sorry|scratch)\b"
    r"|(?:^|[.!?…:;,—–-]\s|[(\n])[\s*_>#-]{0,9}no[,.!;:—–-]"
    r"|\bi (?:\w{1,20} )?(?:meant?|misread|misstated|mislabel\w*|mistook|misjudged|mixed|confused|swapped|stand corrected|retract|withdraw"
    r"|(?:take|took) (?:it|that|this) back|chang(?:e|ed) my|(?:was|am) (?:wrong|mistaken)|got (?:it|that|this|them) (?:wrong|backwards|reversed)"
    r"|(?:made|make) (?:a|an) (?:\w{1,20} )?(?:mistake|error)|should (?:have|say|correct))"
    r"|\b(?:that|this|it|answer|verdict|choice|above) (?:was|is) (?:wrong|incorrect|mistaken|a mistake|an error|not right)\b"
    r"|\bmy (?:mistake|bad|error|apologies)\b|\bthe opposite\b|\bother way a?round\b|\b(?:labels|letters) (?:are|were|got|had been) (?:swapped|reversed|mixed)"
    r"|\b(?:corrected|revised|updated|changed) (?:answer|verdict|choice|preference|decision|judge?ment)\b"
    r"|\b(?:chang|revis|correct|switch|updat|revers)(?:e|es|ing)? (?:my|the|to)\b|\b(?:ignore|disregard) (?:that|the above|my)\b"
)
CONDITION = re.compile(
    r"\b(?:if|although|though|while|whereas|unless|when|where|in terms of|some|might|could|would have)\b", re.IGNORECASE
)
SENTENCE = re.compile(r"(?<=[.!?])\s|\n")


@dataclass(frozen=True)
class Reversals:
    """The sentences that contradict a verdict in one form.

    labels, nouns, letters, better : of the form; without nouns, sentences about letters are not read
    """

    labels: tuple[str, ...]
    nouns: tuple[str, ...]
    letters: tuple[str, ...]
    better: bool

    def contradict(self, letter: str, line: str) -> bool:
        """Tell whether a line names another letter as the answer, or this one as the opposite."""
        if not self.nouns:
            return False
        for sentence in filter(self._named.search, SENTENCE.split(line)):
            if (denied := self._denied.match(sentence)) and denied["letter"] == letter:
                return True
            if opposite := self._opposite.search(sentence):
                if opposite["letter"] == letter:
                    return True
                continue
            cited = CITES.search(sentence)
            end = cited.start() if cited else len(sentence)
            forms = [self._stated, *([self._ranked] if self.better else ()), *([] if cited else [self._ending])]
            forms += [] if CONDITION.search(sentence) else [self._praised]
            if any(named["letter"] != letter for form in forms for named in form.finditer(sentence, 0, end)):
                return True
        return False

    @cached_property
    def _named(self) -> re.Pattern[str]:
        """A letter as a word."""
        return re.compile(rf"(?<!\w)[{''.join(self.letters)}](?!\w)")

    @cached_property
    def _letter(self) -> str:
        """A pattern of a letter with its noun. Numbers need the noun."""
        noun = rf"(?i:(?:the\s)?(?:{any_of(self.nouns)})\s)"
        optional = "" if self.letters[0].isdecimal() else "?"
        return (
            rf"[\s\"'(*_\[{{]{{0,4}}{noun}{optional}[\"'(*_\[{{]{{0,4}}(?P<letter>{'|'.join(self.letters)})(?![\w'’])"
        )

    @cached_property
    def _stated(self) -> re.Pattern[str]:
        """A letter that is named as the answer: `I choose A`, `final verdict: A`, `A rather than B`."""
        verbs = r"choos\w{1,3}|chose|pick|select|meant?|(?:switch|chang|revis|correct)\w{0,3}(?:\s\w+){0,3}?\sto|should\s(?:be|have\sbeen)|make\s(?:it|that)"
        verbs += r"|(?:answer|verdict|choice|decision|pick|conclusion|judge?ment)\s(?:is|was)(?:\s(?:now|in\sfact))?|it(?:\sis|['’]s)"
        labels = r"final|answer|verdict|choice|decision|chosen|pick|conclusion|result|correct\w{0,4}|updated?|revised"
        if self.better:
            verbs += r"|prefer|favou?r|go(?:ing)?\swith|vote\sfor|settle\son|stick\swith|(?:winner|preference)\sis"
            verbs += rf"|(?:preferred|better|best|right|correct)\s(?:{any_of(self.nouns)}|one|choice|option|answer)\s(?:is|was)"
            labels += r"|preference|preferred|winner|better|best"
        return re.compile(
            rf"(?i:\b(?:{verbs})\b|\b(?:{labels})\b[^.:=→>\n]{{0,20}}(?:[:=→]|->))\W{{0,2}}{self._letter}"
        )

    @cached_property
    def _ending(self) -> re.Pattern[str]:
        """A letter with which a sentence ends: `Therefore, A.`, `A it is.`"""
        before = r"^|[,:;=>→–—-]|(?i:\b(?:is|be|was|choose|revise|mind|prefer|therefore|thus|so|hence|then)\b)"
        return re.compile(
            rf"(?:{before}){self._letter}[\"')*_\]}}]{{0,4}}(?i:,?\s(?:then|it\sis|wins|instead|after\sall|now|is\sthe\sone\b[^.]{{0,20}}))?[^\w\n]{{0,6}}$"
        )

    @cached_property
    def _denied(self) -> re.Pattern[str]:
        """A letter that is denied at the start of a sentence: `Not B`."""
        return re.compile(rf"\W{{0,6}}(?i:not){self._letter}")

    @cached_property
    def _praised(self) -> re.Pattern[str]:
        """A letter that is called better: `Summary A is clearly the better one`."""
        praise = (
            "better|best|preferred|preferable|superior|stronger|winner|right|correct"
            if self.better
            else "worse|worst|weaker|inferior"
        )
        words = any_of(tuple(dict.fromkeys([*praise.split("|"), *self.labels])))
        return re.compile(
            rf"{self._letter}[\"')*_\]}}]{{0,4}}\s(?i:(?:is|was|would\sbe|should\sbe|seems|looks|remains)"
            rf"(?:\s(?!not\b|less\b|never\b|no\b)\w{{1,20}}){{0,4}}?\s(?:{words})\b[*_\"')]{{0,4}}"
            rf"(?=$|[.,;:!)?]|\s(?:than|one|choice|overall|here|because|since|as|for|{any_of(self.nouns)})\b))"
        )

    @cached_property
    def _ranked(self) -> re.Pattern[str]:
        """A letter that is put above another one: `A over B`, `A > B`."""
        other_systems = rf"(?i:(?:{any_of(self.nouns)})\s)?(?:{'|'.join(self.letters[:2])})(?!\w)"
        words = r">{1,3}|(?i:over|beats|rather\sthan|instead\sof|(?:and\s)?not)"
        return re.compile(
            rf"\b(?P<letter>{'|'.join(self.letters[:2])})[*_]{{0,2}},?\s{{0,2}}(?:{words})\s{{0,2}}[*_]{{0,2}}{other_systems}"
        )

    @cached_property
    def _opposite(self) -> re.Pattern[str]:
        """A label of the other question with its letter: `Less preferred: A`."""
        return re.compile(
            rf"(?i:\b(?:less|least|not|non|dis\w{{0,9}}|un\w{{0,9}}|worse|worst|weaker|rejected|loser|runner|second)\b[^.:=→>\n]{{0,30}}(?:[:=→]|->))\W{{0,2}}{self._letter}"
            if self.better
            else rf"(?i:\b(?:preferred|better|best|more\s\w{{1,20}}|winner)\b[^.:=→>\n]{{0,20}}(?:[:=→]|->))\W{{0,2}}{self._letter}"
        )

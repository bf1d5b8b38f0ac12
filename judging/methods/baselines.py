"""Methods without calls: baselines, which are controls for real judges, imported verdicts, and juries."""

import hashlib
from typing import Any

from analysis.judges.juries import FEWEST, MAJORITY, RULES
from analysis.similarity.rouge import pairwise_rouge1
from analysis.types import Verdict
from judging.core.errors import BadSettings
from judging.methods.base import Baseline, Method, Presentation, Setting, register
from judging.models import Judge


@register
class Longer(Baseline):
    """Prefers the text with more characters (Unicode code points, as stored). Equal lengths are a tie."""

    name = "longer"
    parser_version = "1"

    def decide(self, presentation: Presentation, *, seed: int) -> Verdict:
        """Compare the lengths. The seed plays no part."""
        if len(presentation.first) == len(presentation.second):
            return Verdict.TIE
        return Verdict.A if len(presentation.first) > len(presentation.second) else Verdict.B


@register
class Overlap(Baseline):
    """Prefers the text with more words in common with the source. Equal overlap is a tie.

    Overlap is ROUGE-1 F1 between the source and the text, with Porter stems: twice the number of common words over the
    number of words of both. Only Latin letters and digits make words, so texts in other scripts, and an empty source,
    are ties. Of two texts that take all their words from the source, the one nearer to its length wins.
    """

    name = "overlap"
    parser_version = "1"

    def decide(self, presentation: Presentation, *, seed: int) -> Verdict:
        """Compare the overlaps. The seed plays no part."""
        [[first, second]] = pairwise_rouge1([presentation.source], [presentation.first, presentation.second])
        return Verdict(int(second > first) - int(second < first))


@register
class Coin(Baseline):
    """Tosses a fair coin for each presentation. The same seed tosses the same."""

    name = "coin"
    parser_version = "1"

    def decide(self, presentation: Presentation, *, seed: int) -> Verdict:
        """Take one bit of a hash over the seed, the pair and the order. The texts play no part."""
        digest = hashlib.sha256(f"coin\x00{seed}\x00{presentation.identity}".encode()).digest()
        return Verdict.A if digest[0] & 1 else Verdict.B


@register
class Imported(Method):
    """Holds verdicts of `import_judgments`, which are counted and analysed like those of any other judge.

    options : `label`, what the file calls the judge, where that is no name here
    """

    name = "imported"
    needs_endpoint = False
    parser_version = "imported.1"
    options = {"label": ""}

    def check(self, task: str, setting: Setting) -> None:
        """Refuse every run.

        Raises: BadSettings
        """
        raise BadSettings("a judge of method imported can't be run; import more verdicts with import_judgments")


@register
class Jury(Method):
    """Combines the stored verdicts of other judges on a pair when they are read, without calls.

    options : `members`, the judges' names; `rule`: majority, weighted (by agreement with people) or dawid-skene
    """

    name = Judge.JURY
    needs_endpoint = False
    parser_version = "jury.1"
    options = {"members": [], "rule": MAJORITY}

    def check(self, task: str, setting: Setting) -> None:
        """Refuse another rule, and members that are too few, or named twice.

        Raises: BadSettings
        """
        options: dict[str, Any] = {**self.options, **setting.options}
        rule, members = options["rule"], options["members"]
        if rule not in RULES:
            raise BadSettings(f"a jury's rule is one of {', '.join(RULES)}, got {rule}")
        if not isinstance(members, list) or not all(isinstance(name, str) for name in members):
            raise BadSettings(f"a jury's members are a list of judges' names, got {members!r}")
        if twice := sorted({name for name in members if members.count(name) > 1}):
            raise BadSettings(f"a jury has each member once; {', '.join(twice)} is named twice")
        if len(members) < FEWEST[rule]:
            problem = f"only {', '.join(members)}" if members else "none"
            raise BadSettings(
                f"a jury by rule {rule} has at least {FEWEST[rule]} members, and this one {problem}: name further judges as members"
            )

"""The method of juries, whose verdicts are combined from other judges'."""

from typing import Any

from analysis.judges.juries import FEWEST, MAJORITY, RULES
from judging.core.errors import BadSettings
from judging.methods.base import Method, Setting, register
from judging.models import Judge


@register
class Jury(Method):
    """Combines the stored verdicts of other judges on a pair when they are read, without calls.

    options : `members`, the judges' names; `rule`: majority, weighted (by agreement with people) or dawid-skene
    """

    name = Judge.JURY
    needs_endpoint = False
    parser_version = "jury.1"
    options = {"members": [], "rule": MAJORITY}

    def prompt_version(self, task: str, setting: Setting) -> str:
        """Nothing is asked, so there is no prompt."""
        return ""

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

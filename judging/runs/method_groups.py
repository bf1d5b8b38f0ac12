"""The judging methods as the pages offer them: in groups, with their calls for a pair, and when to choose which."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from django.utils.translation import gettext_lazy as _

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise

RECOMMENDED = "direct"


@dataclass(frozen=True)
class OfferedMethod:
    """A method on offer; `calls` are those for a pair in one order with the default options, shared ones counted in full."""

    name: str
    calls: int
    when: "StrOrPromise"


METHOD_GROUPS: "Mapping[StrOrPromise, Sequence[OfferedMethod]]" = {
    _("With reasons"): (
        OfferedMethod("direct", 1, _("To begin with: a sentence of comparison that can be read, at little cost.")),
        OfferedMethod("pairwise-cot", 1, _("A brief explanation first, for any task.")),
        OfferedMethod("pros-cons", 1, _("What speaks for and against each text is to be seen.")),
        OfferedMethod("cot", 1, _("Long or difficult texts; longer answers cost more.")),
        OfferedMethod("cot-1shot", 1, _("As cot, where the model keeps to the form after an example only.")),
        OfferedMethod("few-shot", 1, _("Your task has examples with known answers.")),
        OfferedMethod("direct-aspects", 1, _("The comparison is to go by given aspects.")),
        OfferedMethod("self-consistency", 8, _("One answer varies from call to call; the majority of 8 counts.")),
    ),
    _("Simple: the choice and nothing else"): (
        OfferedMethod("pairwise", 1, _("Many pairs at the least cost; no reason is given.")),
        OfferedMethod("pairwise-tie", 1, _("As pairwise, with a tie on offer, as people have it.")),
        OfferedMethod("token-preference", 1, _("The endpoint gives probabilities: they show how clear a choice is.")),
        OfferedMethod("ranked-list", 1, _("To compare with benchmarks that ask for a list of ranks.")),
        OfferedMethod("ranked-function", 1, _("The endpoint calls functions: answers that can always be read.")),
    ),
    _("Each text by itself first"): (
        OfferedMethod("pointwise", 2, _("Scores are needed too, or many systems: each text is asked about once.")),
        OfferedMethod("prepair", 3, _("Superficial features mislead a judge that sees both texts at once.")),
        OfferedMethod("prepair-star", 2, _("To tell what prepair gains by assessing texts apart.")),
        OfferedMethod("sgm", 2, _("Criteria differ from instance to instance.")),
        OfferedMethod("sgm-prepair", 4, _("Criteria first, then each text by them.")),
        OfferedMethod("reference", 2, _("There is a right answer, in the file or of the judge’s own.")),
    ),
    _("With tables"): (
        OfferedMethod(
            "sc2", 16, _("Long texts and consistency matter more than cost: comparison tables, the best of 8.")
        ),
    ),
    _("Baselines: no model, no cost"): (
        OfferedMethod("longer", 0, _("What preferring length alone comes to.")),
        OfferedMethod("overlap", 0, _("What counting words of the source alone comes to.")),
        OfferedMethod("coin", 0, _("What chance alone comes to.")),
    ),
}


def method_choices() -> "list[tuple[str, list[tuple[str, str]]]]":
    """Return the choices of a form, in groups, each with its calls for a pair."""
    return [(str(group), [(one.name, _named(one)) for one in offered]) for group, offered in METHOD_GROUPS.items()]


def _named(one: OfferedMethod) -> str:
    said = _("%(method)s (recommended) · calls for a pair: %(calls)d")
    if one.name != RECOMMENDED:
        said = _("%(method)s · calls for a pair: %(calls)d")
    return str(said) % {"method": one.name, "calls": one.calls}

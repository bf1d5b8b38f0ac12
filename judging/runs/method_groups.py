"""The judging methods as the pages offer them: in groups, with their calls for a pair, and when to choose which."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

RECOMMENDED = "direct"


@dataclass(frozen=True)
class OfferedMethod:
    """A method on offer. `calls` are those for a pair in one order with the default options, shared ones counted in full."""

    name: str
    calls: int
    when: str


METHOD_GROUPS: Mapping[str, Sequence[OfferedMethod]] = {
    "With reasons": (
        OfferedMethod("direct", 1, "To begin with: a sentence of comparison that can be read, at little cost."),
        OfferedMethod("pairwise-cot", 1, "A brief explanation first, for any task."),
        OfferedMethod("pros-cons", 1, "What speaks for and against each text is to be seen."),
        OfferedMethod("cot", 1, "Long or difficult texts; longer answers cost more."),
        OfferedMethod("cot-1shot", 1, "As cot, where the model keeps to the form after an example only."),
        OfferedMethod("few-shot", 1, "Your task has examples with known answers."),
        OfferedMethod("direct-aspects", 1, "The comparison is to go by given aspects."),
        OfferedMethod("self-consistency", 8, "One answer varies from call to call; the majority of 8 counts."),
    ),
    "Simple: the choice and nothing else": (
        OfferedMethod("pairwise", 1, "Many pairs at the least cost; no reason is given."),
        OfferedMethod("pairwise-tie", 1, "As pairwise, with a tie on offer, as people have it."),
        OfferedMethod("token-preference", 1, "The endpoint gives probabilities: they show how clear a choice is."),
        OfferedMethod("ranked-list", 1, "To compare with benchmarks that ask for a list of ranks."),
        OfferedMethod("ranked-function", 1, "The endpoint calls functions: answers that can always be read."),
    ),
    "Each text by itself first": (
        OfferedMethod("pointwise", 2, "Scores are needed too, or many systems: each text is asked about once."),
        OfferedMethod("prepair", 3, "Superficial features mislead a judge that sees both texts at once."),
        OfferedMethod("prepair-star", 2, "To tell what prepair gains by assessing texts apart."),
        OfferedMethod("sgm", 2, "Criteria differ from instance to instance."),
        OfferedMethod("sgm-prepair", 4, "Criteria first, then each text by them."),
        OfferedMethod("reference", 2, "There is a right answer, in the file or of the judge’s own."),
    ),
    "With tables": (
        OfferedMethod("sc2", 16, "Long texts and consistency matter more than cost: comparison tables, the best of 8."),
    ),
    "Baselines: no model, no cost": (
        OfferedMethod("longer", 0, "What preferring length alone comes to."),
        OfferedMethod("overlap", 0, "What counting words of the source alone comes to."),
        OfferedMethod("coin", 0, "What chance alone comes to."),
    ),
}


def method_choices() -> list[tuple[str, list[tuple[str, str]]]]:
    """Return the choices of a form, in groups, each with its calls for a pair."""
    return [(group, [(item.name, _named(item)) for item in offered]) for group, offered in METHOD_GROUPS.items()]


def _named(offered: OfferedMethod) -> str:
    recommended = " (recommended)" if offered.name == RECOMMENDED else ""
    return f"{offered.name}{recommended} · calls for a pair: {offered.calls}"

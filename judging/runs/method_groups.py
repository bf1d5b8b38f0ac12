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
        OfferedMethod("direct", 1, "A good start: one sentence of comparison, at little cost."),
        OfferedMethod("pairwise-cot", 1, "A brief explanation before the choice, for any task."),
        OfferedMethod("pros-cons", 1, "You want to see what speaks for and against each text."),
        OfferedMethod("cot", 1, "Long or difficult texts. Longer answers cost more."),
        OfferedMethod("cot-1shot", 1, "As cot, for models that need an example of the form."),
        OfferedMethod("few-shot", 1, "Your task has examples with known answers."),
        OfferedMethod("direct-aspects", 1, "The comparison should follow given aspects."),
        OfferedMethod("self-consistency", 8, "Answers vary from call to call: the majority of 8 counts."),
    ),
    "Simple: the choice and nothing else": (
        OfferedMethod("pairwise", 1, "Many pairs at the least cost, without reasons."),
        OfferedMethod("pairwise-tie", 1, "As pairwise, with a tie as people have it."),
        OfferedMethod("token-preference", 1, "The endpoint gives probabilities, which show how clear a choice is."),
        OfferedMethod("ranked-list", 1, "To compare with benchmarks that ask for a list of ranks."),
        OfferedMethod("ranked-function", 1, "The endpoint has function calls: answers can always be read."),
    ),
    "Each text by itself first": (
        OfferedMethod("pointwise", 2, "You need scores too, or have many systems: one call per text."),
        OfferedMethod("prepair", 3, "Superficial features mislead judges that see both texts at once."),
        OfferedMethod("prepair-star", 2, "To measure what prepair gains from assessing texts separately."),
        OfferedMethod("sgm", 2, "Criteria differ from instance to instance."),
        OfferedMethod("sgm-prepair", 4, "Criteria first, then each text by them."),
        OfferedMethod("reference", 2, "There is a right answer, from the file or by the judge."),
    ),
    "With tables": (
        OfferedMethod("sc2", 16, "Long texts, if consistency matters more than cost: the best of 8 comparison tables."),
    ),
    "Baselines: no model, no cost": (
        OfferedMethod("longer", 0, "The result of preferring length alone."),
        OfferedMethod("overlap", 0, "The result of counting words of the source alone."),
        OfferedMethod("coin", 0, "The result of chance alone."),
    ),
}


def method_choices() -> list[tuple[str, list[tuple[str, str]]]]:
    """Return the choices of a form, in groups, each with its calls for a pair."""
    return [(group, [(item.name, _named(item)) for item in offered]) for group, offered in METHOD_GROUPS.items()]


def _named(offered: OfferedMethod) -> str:
    recommended = " (recommended)" if offered.name == RECOMMENDED else ""
    return f"{offered.name}{recommended} · calls for a pair: {offered.calls}"

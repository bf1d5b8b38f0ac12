"""Names of changes and of what verdicts turn to, in the reader's language."""

from django.utils.translation import gettext_lazy as _

from reporting.audits.stress import AWAY, EITHER, NONE, STAYS

CHANGE_NAMES = {
    "position": _("Texts change places"),
    "again": _("Asked again, with another seed"),
    "padding": _("Longer by sentences without content"),
    "list": _("Sentences as a list"),
    "bold": _("Words in bold"),
    "repetition": _("One sentence twice"),
    "authority": _("“Experts agree”"),
    "instruction": _("An instruction to choose it"),
    "model-name": _("Name of a famous model"),
    "empty": _("Empty text"),
    "truncated": _("Second half cut off"),
    "sentence-order": _("Sentences in another order"),
    "identical": _("Identical texts"),
}
TURN_NAMES = {
    "turned": _("Turned"),
    "towards": _("Towards the changed text"),
    "away": _("Away from it"),
    "to_tie": _("To no preference"),
}
SOUND_NAMES = {
    STAYS: _("stays"),
    AWAY: _("goes to the other text"),
    EITHER: _("stays, or goes to the other text"),
    NONE: _("has no preference"),
}
PART_NAMES = {
    "all": _("All pairs"),
    "people_agree": _("Pairs on which people agree"),
    "people_disagree": _("Pairs on which people disagree"),
}
ROW_NAMES = {
    "accuracy": _("Accuracy"),
    "accuracy_when_orders_agree": _("Accuracy where both orders agree"),
    "positional_agreement": _("Same verdict in both orders"),
    "first_position_rate": _("First text preferred"),
    "agreement": _("With people, vote by vote"),
    "people_agreement": _("People with one another, same pairs"),
    "difference": _("Difference"),
    "kappa": _("With people, κ"),
    "with_majority": _("With people’s majority"),
    "plain": _("Win rate of the first system"),
    "win_rate_a": _("The same at equal lengths"),
    "non_inferiority": _("Less than a person’s, for replacing one"),
    "mean_consistency": _("Mean consistency"),
    "fully_consistent": _("Fully consistent rating sets"),
    "mean_preference_strength": _("Mean preference strength"),
    "preferred_first": _("First text preferred"),
    "with_judge": _("Wins of its family with the judge"),
    "with_people": _("Wins of its family with people"),
    "transitivity_5": _("Transitivity of 5"),
    "commutativity": _("Commutativity"),
    "negation_invariance": _("Negation invariance"),
    "self_agreement": _("Self-agreement"),
    "changed": _("Verdicts that have changed"),
    "by_chance": _("By chance"),
    "beyond_chance": _("Beyond chance"),
}

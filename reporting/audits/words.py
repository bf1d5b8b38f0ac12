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

"""Names of changes and of what verdicts turn to."""

from reporting.audits.stress import AWAY, EITHER, NONE, STAYS

CHANGE_NAMES = {
    "position": "Texts change places",
    "again": "Asked again, with another seed",
    "padding": "Longer by sentences without content",
    "list": "Sentences as a list",
    "bold": "Words in bold",
    "repetition": "One sentence twice",
    "authority": "“Experts agree”",
    "instruction": "An instruction to choose it",
    "model-name": "Name of a famous model",
    "empty": "Empty text",
    "truncated": "Second half cut off",
    "sentence-order": "Sentences in another order",
    "identical": "Identical texts",
}
TURN_NAMES = {
    "turned": "Turned",
    "towards": "Towards the changed text",
    "away": "Away from it",
    "to_tie": "To no preference",
}
SOUND_NAMES = {
    STAYS: "stays",
    AWAY: "goes to the other text",
    EITHER: "stays, or goes to the other text",
    NONE: "has no preference",
}
PART_NAMES = {
    "all": "All pairs",
    "people_agree": "Pairs on which people agree",
    "people_disagree": "Pairs on which people disagree",
}

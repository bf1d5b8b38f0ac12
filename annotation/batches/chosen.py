"""Descriptions of selections of instances."""

from django.template.defaultfilters import pluralize

from annotation.core.counting import counted


def chosen_in_words(spec: str) -> str:
    """Say how a selection, written as for `create_batch --select`, chooses instances, or "" for one that is unknown."""
    kind, _colon, number = spec.partition(":")
    bins, _x, per_bin = number.partition("x")
    drawn = per_bin or number
    instances = counted(int(drawn), "instances") if drawn.isdecimal() else ""
    words = {
        "all": "all instances",
        "ids": "instances of a list",
        "random": f"{instances} at random",
        "top": f"the {drawn} instance{pluralize(drawn)} of highest separability",
        "importance": f"{instances}, drawn the more likely the higher their separability",
        "active": f"{instances}, drawn the more likely the less sure judges are",
        "disagree": f"{instances} at random, on which judges disagree",
        "stratified": f"from each of {bins} bins of separability {instances}",
    }
    return words.get(kind, "")

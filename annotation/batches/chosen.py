"""How instances were chosen, and why others were left out, in the reader's words."""

import re
from collections.abc import Mapping

from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from annotation.core.units import counted

# As they are stored with a batch; the first one's number is taken out before it is looked up.
REASONS: Mapping[str, Promise] = {
    "with fewer than N pairs": gettext_lazy("with fewer than %(number)s pairs"),
    "without source text": gettext_lazy("without source text"),
    "on HITs of a qualification or of hidden checks": gettext_lazy("on HITs of a qualification or of hidden checks"),
    "on HITs for rating": gettext_lazy("on HITs for rating"),
    "in the batch already": gettext_lazy("in the batch already"),
    "without a gold preference for these systems": gettext_lazy("without a gold preference for these systems"),
    "whose gold is a tie, which this study does not offer": gettext_lazy(
        "whose gold is a tie, which this study does not offer"
    ),
}


def left_out_in_words(reason: str) -> str:
    """Say why instances were left out of a batch; a reason that is unknown stays as it is stored."""
    number = re.search(r"\d+", reason)
    known = REASONS.get(re.sub(r"\d+", "N", reason))
    return reason if known is None else str(known) % {"number": number and number[0]}


def chosen_in_words(spec: str) -> str:
    """Say how a selection, written as for `create_batch --select`, chooses instances; "" for one that is unknown."""
    kind, _colon, number = spec.partition(":")
    bins, _x, per_bin = number.partition("x")
    drawn = per_bin or number
    instances = counted(int(drawn), "instances") if drawn.isdecimal() else ""
    words = {
        "all": _("all instances"),
        "ids": _("instances of a list"),
        "random": _("%(instances)s at random") % {"instances": instances},
        "top": ngettext(
            "the %(n)s instance of highest separability",
            "the %(n)s instances of highest separability",
            int(drawn) if drawn.isdecimal() else 0,
        )
        % {"n": drawn},
        "importance": _("%(instances)s, drawn the more likely the higher their separability")
        % {"instances": instances},
        "stratified": _("from each of %(bins)s bins of separability %(instances)s")
        % {"instances": instances, "bins": bins},
    }
    return words.get(kind, "")

"""Reasons why numbers on separability have no value."""

from analysis.planning.advice import NoCrossing
from annotation.core.reasons import Reason

NO_VALUE = Reason("no_value", "no instance has a separability")
NONE_OF_TWO = Reason("none_of_two", "no instance has a separability: it needs two generations or more of each system")
NO_RANKS = Reason("no_ranks", "undefined: fewer than two instances have both, or one is the same for all")
NOT_SO_MANY = Reason("not_so_many", "no instance has so many generations")
NO_RATINGS = Reason("no_ratings", "no rating set has both consistency and separability yet")
NO_SET = Reason("no_set", "no rating set")
NO_SET_ON_SIDE = Reason("no_set_on_side", "no rating set on that side")
NO_SHARED_SIMILARITY = Reason(
    "no_shared_similarity", "separability is not computed for every configuration with the same similarity"
)
ALL_ALIKE = Reason("all_alike", "every alignment of the study is the same, or missing")
NO_SLOPE = Reason("no_slope", "no finite slope")
SEPARATED = Reason(
    "separated", "no finite slope: one value of separability divides consistent from inconsistent rating sets"
)
NO_CROSSING = {
    NoCrossing.ONE_VALUE: Reason("one_value", "all rated instances have the same separability"),
    NoCrossing.ALL_INCONSISTENT: Reason(
        "all_inconsistent", "every rating set is inconsistent, whatever its separability"
    ),
    NoCrossing.ALL_CONSISTENT: Reason(
        "all_consistent", "every rating set is fully consistent, whatever its separability"
    ),
    NoCrossing.NOT_RISING: Reason("not_rising", "in these ratings consistency does not rise with separability"),
    NoCrossing.BELOW_SUPPORT: Reason(
        "below_support", "the mean consistency is above a half at every separability that was rated"
    ),
    NoCrossing.ABOVE_SUPPORT: Reason(
        "above_support", "the mean consistency is below a half at every separability that was rated"
    ),
}
NEEDS_MODEL = Reason("needs_model", "this similarity needs a model or a package that pages don't load; use the command")
TOO_LONG = Reason(
    "too_long",
    "the texts are too long for a page; compute separability with fewer samples or cross pairs, and compare",
)
FEW_TEXTS = Reason("few_texts", "no instance has three generations or more of both systems")

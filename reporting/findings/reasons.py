"""Reasons why findings have no value, or no interval."""

from collections.abc import Sequence

from analysis.types import REFUSALS
from annotation.core.reasons import Reason

NO_RATING_SETS = Reason("no_rating_sets", "no rating set with a verdict yet")
ALL_INCOMPLETE = Reason("all_incomplete", "every rating set lacks a rating, and such sets are left out here")
NO_SET_IN_BIN = Reason("no_set_in_bin", "no rating set in this bin")
NO_INSTANCE_IN_BIN = Reason("no_instance_in_bin", "no instance in this bin")
NO_VERDICT = Reason("no_verdict", "no verdict on a pair")
CHANCE_UNKNOWN = Reason(
    "chance_unknown", "the chance of their instance is not recorded, or their HITs record different ones"
)
TOO_MANY_INSTANCES = Reason("too_many_instances", "more than {most} instances: not listed one by one")

# Separability
NOT_COMPUTED = Reason("not_computed", "separability has not been computed")
NOT_COMPUTED_WITH = Reason("not_computed", "separability has not been computed with {similarity}")
ONE_TEXT = Reason("one_text", "each system has one text for an instance, and separability needs two or more")
ALL_UNDEFINED = Reason(
    "all_undefined", "no selected instance has a separability: it needs two generations or more of each system"
)
NONE_SELECTED = Reason("none_selected", "no instances are selected")
ONE_CAME_LATER = Reason("came_later", "1 instance came after it was computed: compute it again")
CAME_LATER = Reason("came_later", "{later} instances came after it was computed: compute it again")
ONE_OF_ONE_GENERATION = Reason("one_generation", "1 instance without separability: a system has one generation")
OF_ONE_GENERATION = Reason("one_generation", "{lacking} instances without separability: a system has one generation")
NO_CONFIGURATION = Reason("no_configuration", "the study has no configuration yet")
NO_SHARED_MEASURE = Reason(
    "no_shared_measure",
    "separability is not computed for every configuration with the same similarity, model and draws",
)
NO_SCALE = Reason("no_scale", "{error}")
NONE_DEFINED = Reason("none_defined", "no selected instance has a separability")
ONE_IN_NO_BIN = Reason("in_no_bin", "1 matchup has no separability and is in no bin")
IN_NO_BIN = Reason("in_no_bin", "{matchups} matchups have no separability and are in no bin")

# Agreement
NO_COMMON_VOTES = Reason("no_common_votes", "no pair has ratings of two people")
NOT_CROSSED = Reason("not_crossed", "it takes pairs with ratings of two people, and people who rated two instances")
NO_VARIATION = Reason("no_variation", "undefined: no pair has ratings of two people, or all of these are the same")
NO_RATED_VERDICTS = Reason("no_rated_verdicts", "no pair has both a verdict and a rating")
NO_MAJORITY = Reason("no_majority", "no pair has both a verdict and a majority of the people")
NO_VERDICT_BESIDE_MAJORITY = Reason("no_verdict_beside_majority", "no pair has a verdict and a majority of ratings")
NO_TWO_JUDGES = Reason("no_two_judges", "no pair has verdicts of two judges")
NOT_BOTH_JUDGES = Reason("not_both_judges", "no pair has verdicts of both judges")

# Judges and people
COLLECTING = Reason("collecting", REFUSALS["collecting"])
NO_SHARED_VOTES = Reason("no_shared_votes", "no pair has ratings of two people and a verdict")
NO_VOTES_BESIDE_BOTH = Reason("no_votes_beside_both", "no rating is on a pair with verdicts of both judges")
NO_RATED = Reason("no_rated", "no instance has ratings of people and a verdict")
CHANCES_UNKNOWN = Reason(
    "chances_unknown",
    "the chance of {n} rated instances is not recorded, their HITs record different ones, or several draws are mixed",
)
FEW_MEMBERS = Reason("few_members", "fewer than two members have verdicts here")
NO_ERRORS_TOGETHER = Reason("no_errors_together", "no two members both err on some pairs and not on others")
NO_NUMBER_OF_VOTES = Reason(
    "no_number_of_votes", "errors are too negatively correlated for a number of independent votes"
)
NO_VOTES_OF_BOTH_JURIES = Reason(
    "no_votes_of_both_juries", "no pair has a rating and verdicts of the jury with and without the member"
)
NO_FAMILY = Reason("no_family", "the family of the judge's model is not given")
NO_SYSTEM_FAMILY = Reason("no_system_family", "the families of systems are not given")
NO_PAIR_OF_FAMILY = Reason("no_pair_of_family", "no configuration has exactly one system of the judge's family")
NO_COMMON_PAIR = Reason(
    "no_common_pair", "no pair with exactly one system of the judge's family has a verdict and a rating"
)
ONE_DIFFERENCE = Reason("one_difference", "all pairs have the same difference in length, which is not 0")
NO_OVERLAP = Reason("no_overlap", "lengths hardly overlap: no adjustment")
NO_OVERLAP_HERE = Reason("no_overlap", "these lengths hardly overlap: the rate rests on the common effect")
FOLLOWS_LENGTH = Reason("follows_length", "verdicts follow length alone")
FEW_DECIDED = Reason("few_decided", "too few decided verdicts: {decided}")

# Raters one by one
NO_PREFERENCE = Reason("no_preference", "no rating but ties")
NOBODY_BESIDE = Reason("nobody_beside", "no other person rated the same pairs")
NO_SECONDS = Reason("no_seconds", "no time on a pair is recorded")
NO_CHECKS = Reason("no_checks", "no hidden check was answered")
NOBODY_ELSE = Reason("nobody_else", "no other person compared these systems")
NOT_CONNECTED = Reason("not_connected", "without this person's ratings other systems are connected by comparisons")
FEW_PEOPLE = Reason("few_people", "with fewer than three people on some pair it is unknown which of them errs")

# Rankings
NO_SEPARABILITY = Reason("no_separability", "no compared instance has a separability on the study's scale")
ALONE = Reason("alone", "no interval: one instance alone connects its group")
BY_PRIOR = Reason("by_prior", "no interval: separated, and finite by the prior only")
ALIKE = Reason("alike", "no interval: all instances are alike")
EVERY_TIE = Reason("every_tie", "infinite: every comparison is a tie")
ALL_SETTLED = Reason("all_settled", "every place is settled")
TOO_ALIKE = Reason("too_alike", "a thousand times as many comparisons would not tell them apart")
NEVER_COMPARED = Reason("never_compared", "never compared with another system")
TESTS_PENDING = Reason("tests_pending", "the test is being computed")
NOTHING_COMPARED = Reason("nothing_compared", "no system has been compared")
SEVERAL_GROUPS = Reason("several_groups", "the groups were never compared, so no system is first of all")
UNEQUAL = Reason("unequal", "systems met different opponents, on which these scores depend")
SHARED_FIRST = Reason("shared_first", "several systems share the first place")
NOT_TESTED = Reason("not_tested", "one instance alone connects systems, or all are alike")
TOO_FEW_TO_TEST = Reason("too_few_to_test", "a system has {n} instances, and a test needs {least}")
ALL_TOO_FEW_TO_TEST = Reason("too_few_to_test", "no system has more than {n} instances, and a test needs {least}")


def not_tested(clusters: Sequence[int], least: int) -> Reason:
    """Return why a test between systems is not made.

    clusters : the number of instances of each system, or of their clusters
    """
    if max(clusters) < least:
        return ALL_TOO_FEW_TO_TEST.with_values(n=max(clusters), least=least)
    return TOO_FEW_TO_TEST.with_values(n=min(clusters), least=least) if min(clusters) < least else NOT_TESTED


def not_computed_with(similarity: str | None) -> Reason:
    """Return the reason where separability was not computed, with a similarity if one is named."""
    return NOT_COMPUTED_WITH.with_values(similarity=similarity) if similarity else NOT_COMPUTED

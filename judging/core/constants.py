"""Limits that several rooms share."""

# Of the last so many calls, so many failures stop the work.
LAST_CALLS, MOST_FAILURES = 20, 10
# Causes of failures, as `Judgment.Cause` has them.
TOO_LONG, FILTERED, REJECTED, NO_ANSWER = "length", "filter", "rejected", "no_answer"
FINAL_CAUSES = frozenset({TOO_LONG, FILTERED})  # the same request would fail again: only a retry asks it
MAX_IN_FLIGHT = 1024
MOST_SEED = 2**31 - 1  # also of other integers that are stored
# Set by the engine; a judge that overrode them could not read the answer.
RESERVED_PARAMS = frozenset({"model", "messages", "stream", "stream_options", "n"})

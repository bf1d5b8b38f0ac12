"""Limits that several rooms share."""

FAILURES_IN_A_ROW = 10
MAX_IN_FLIGHT = 1024
MOST_SEED = 2**31 - 1  # also of other integers that are stored
# Set by the engine; a judge that overrode them could not read the answer.
RESERVED_PARAMS = frozenset({"model", "messages", "stream", "stream_options", "n"})

"""Why work stops: the English text of each code."""

from annotation.core.reasons import TEXTS

TEXTS.update(
    {
        "stopped_elsewhere": "stopped by another process",
        "taken_over": "another process has taken over, since this one did not respond for too long; nothing more was asked",
        "no_endpoint": "judge {judge} has no endpoint",
        "made_elsewhere": "verdicts of method {method} are imported, so it can't be run",
        "host_not_public": "endpoint {endpoint} may not be asked: its host is not public, and the setting ENDPOINT_ALLOWLIST does not name it; the server's log has the details",
        "host_not_found": "endpoint {endpoint} can't be asked: its host has no address at present; the server's log has the details",
        "cap_reached": "the cap of {cap} is reached: {spent} spent, which may leave too little for another call; set a higher cap to continue",
        "tokens_unknown": "the endpoint does not report tokens, so the cost can't be capped",
        "prices_unknown": "the cost can't be capped: the prices of endpoint {endpoint} are unknown",
        "access_denied": "the endpoint refuses access: {error}",
        "nothing_answered": "no question got an answer (errors: {number}, {count} of them of this kind): {error}",
        "many_failures": "{failures} of the last {calls} calls got no answer ({number} × {kind}), the last one: {error}",
        "endpoint_down": "the endpoint gave no answer for {seconds} s, and {probes} single calls failed too, the last one: {error}",
        "no_answer": "a question got no answer: {error}; starting again asks only for what is missing",
        "no_texts": "the last {number} answers were no texts, for example: {example}; starting again asks only for what is missing",
        "system_changed": "the settings of system {system} have changed meanwhile; nothing more is stored",
        "batch_pending": "waiting for the provider's batch",
        "batch_not_queued": "the provider's queue takes no batch, not even of one request: {error}",
        "batch_refused": "the provider did not take the batch: {error}",
        "batch_lost": "the provider no longer knows the batch {batch}: {error}",
        "batch_unreachable": "the state of the batch is unknown: {error}",
        "batch_api_refused": "the endpoint's Batch API did not take the requests ({error}); run the judge by calls instead",
        "batch_length_unknown": "a batch can be capped only with answers of limited length; add a judge with the parameter max_tokens, or run it by calls",
        "nothing_asked": "{number} presentations are open, but nothing is asked",
    }
)

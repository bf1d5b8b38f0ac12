"""The requests of an audit, apart from asking, so that web processes estimate one without the HTTP client."""

from dataclasses import replace

from judging.audits.stress import endpoint_of
from judging.calls.requests import Request, Requests, canonical_form, hash_of, sample_of
from judging.methods import AskingMethod, Call, find_method
from judging.models import JudgeAudit

FIRST_DRIFT_SAMPLE = 10_000_000  # beyond the samples of runs and their further attempts
# Samples of a check: of each call, its attempts, and the two askings of a first check.
DRAWS, ATTEMPTS, ASKINGS = 1000, 8, 2


class DriftRequests(Requests):
    """Makes the requests of a check of drift: what the judge's runs send, seed included, under sample numbers of its own."""

    def __init__(self, audit: JudgeAudit, method: AskingMethod) -> None:
        super().__init__(audit.judge, method)
        self.first = FIRST_DRIFT_SAMPLE + (audit.pk or 0) * ASKINGS * ATTEMPTS * DRAWS

    def request(self, call: Call, *, repeat: int, attempt: int) -> Request:
        """Return the request for a call; `repeat` is not 0 for the second asking."""
        sent = super().request(call, repeat=0, attempt=attempt)
        sample = self.first + ((repeat != 0) * ATTEMPTS + attempt) * DRAWS + sample_of(call, repeat=0, attempt=0)
        canonical = canonical_form(sent.base_url, sent.body, sample)
        return replace(sent, key=hash_of(canonical), sample=sample)


def requests_of(audit: JudgeAudit) -> Requests:
    """Return what makes an audit's requests: those of a stress test share answers with the judge's runs."""
    method = asking_method(audit)
    drift = audit.kind == JudgeAudit.Kind.DRIFT
    return DriftRequests(audit, method) if drift else Requests(audit.judge, method)


def asking_method(audit: JudgeAudit) -> AskingMethod:
    """Return the method of the judge, which asks a model.

    Raises: BadSettings if it asks none
    """
    endpoint_of(audit.judge)
    method = find_method(audit.judge.method)
    if not isinstance(method, AskingMethod):
        raise TypeError(f"{method.name} was found to ask a model")
    return method

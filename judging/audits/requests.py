"""The requests of an audit, apart from asking, so that web processes estimate one without the HTTP client."""

from judging.audits.stress import endpoint_of
from judging.calls.requests import Requests
from judging.methods import AskingMethod, find_method
from judging.models import JudgeAudit


def requests_of(audit: JudgeAudit) -> Requests:
    """Return what makes an audit's requests, which share answers with the judge's runs."""
    return Requests(audit.judge, asking_method(audit))


def asking_method(audit: JudgeAudit) -> AskingMethod:
    """Return the method of the judge, which asks a model.

    Raises: BadSettings if it asks none
    """
    endpoint_of(audit.judge)
    method = find_method(audit.judge.method)
    if not isinstance(method, AskingMethod):
        raise TypeError(f"{method.name} was found to ask a model")
    return method

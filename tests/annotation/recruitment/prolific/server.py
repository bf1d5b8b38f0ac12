"""A stand-in for Prolific's API: a real HTTP server that takes and refuses what Prolific does, and fails as it does."""

import json
import re
import time
from dataclasses import dataclass, field
from functools import cache
from http.server import BaseHTTPRequestHandler
from typing import Any
from urllib.parse import parse_qs, urlsplit

import jwt
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey, generate_private_key
from jwt.algorithms import RSAAlgorithm
from jwt.utils import base64url_encode

from annotation.recruitment.prolific.site import CATEGORIES
from tests.annotation.recruitment.platform import CUT, HELD, HELD_AND_DONE, LOST, Json, PlatformServer, Refusal, Trouble

__all__ = ["CUT", "HELD", "HELD_AND_DONE", "LOST", "Trouble"]
TOKEN = "stand-in-token"
STUDY = "60f6acb180a7b59ac0621f9e"
DRAFT = "65f0c0ffee0000000000d00d"
DECIDED = {"APPROVE": "APPROVED", "REJECT": "REJECTED"}


class ProlificRefusal(Refusal):
    """An answer that says no, in the form of Prolific's errors."""

    def __init__(self, status: int, detail: Any, title: str = "Error") -> None:
        super().__init__(
            status, {"error": {"status": status, "error_code": 140000 + status, "title": title, "detail": detail}}
        )


def answering(status: int, retry_after: str = "", *, takes_effect: bool = False) -> Trouble:
    """Return the trouble of a request that gets this status."""
    refusal = Refusal(status, {"error": "down"}, {"Retry-After": retry_after} if retry_after else {})
    return Trouble(refusal, takes_effect=takes_effect)


BUSY, FAULT, FAULT_AFTERWARDS = answering(429), answering(500), answering(500, takes_effect=True)


@dataclass
class ProlificServer(PlatformServer):
    """A workspace.

    pays_at_once : otherwise bonuses are listed when `settle` is called, as Prolific lists them minutes later
    """

    submissions: dict[str, Json] = field(default_factory=dict)
    studies: dict[str, Json] = field(default_factory=dict)
    bulk: dict[str, list[tuple[str, int]]] = field(default_factory=dict)
    queue: list[tuple[str, int]] = field(default_factory=list)
    keys: list[Json] = field(default_factory=list)
    pays_at_once: bool = True
    funds: int = 100_000

    def add(self, submission: str, participant: str, status: str = "ACTIVE", study: str = STUDY) -> None:
        """Have a participant take a place in a study."""
        self.submissions[submission] = {
            "id": submission,
            "participant": participant,
            "study_id": study,
            "status": status,
            "started_at": "2024-05-01T12:00:00Z",
            "completed_at": None,
            "bonus_payments": [],
        }

    def settle(self) -> None:
        """Let minutes go by: bonuses that were taken are paid."""
        for submission, cents in self.queue:
            self.submissions[submission]["bonus_payments"].append(float(cents))
        self.queue.clear()

    def paid(self, submission: str) -> list[float]:
        """Return the bonuses of a submission, on their way or paid."""
        waiting = [float(cents) for one, cents in self.queue if one == submission]
        return self.submissions[submission]["bonus_payments"] + waiting

    def _answer(self, handler: BaseHTTPRequestHandler, body: Json) -> tuple[int, Any]:
        parts = urlsplit(handler.path)
        if parts.path == "/.well-known/study/jwks.json":
            return 200, {"keys": self.keys}
        if handler.headers.get("Authorization") != f"Token {TOKEN}":
            raise ProlificRefusal(401, f"Invalid token {handler.headers.get('Authorization')}", "Unauthorized")
        asked = (handler.command, parts.path)
        if asked == ("GET", "/api/v1/submissions/"):
            return 200, self._list({name: values[0] for name, values in parse_qs(parts.query).items()})
        if asked == ("POST", "/api/v1/studies/"):
            made = {**body, "id": DRAFT, "status": "UNPUBLISHED"}
            return 201, self.studies.setdefault(DRAFT, made)
        if found := re.fullmatch(r"/api/v1/studies/(\w+)/(transition/)?", parts.path):
            return 200, self._study(found[1], handler.command, body)
        if asked == ("POST", "/api/v1/submissions/bonus-payments/"):
            return 201, self._set_up(body)
        if found := re.fullmatch(r"/api/v1/submissions/(\w+)/", parts.path):
            return 200, self._found(found[1])
        if found := re.fullmatch(r"/api/v1/submissions/(\w+)/transition/", parts.path):
            return 200, self._transition(self._found(found[1]), body)
        if found := re.fullmatch(r"/api/v1/bulk-bonus-payments/(\w+)/pay/", parts.path):
            return 202, self._pay(found[1])
        raise ProlificRefusal(404, "Not found.")

    def _found(self, submission: str) -> Json:
        if submission not in self.submissions:
            raise ProlificRefusal(404, "Not found.")
        return self.submissions[submission]

    def _study(self, study: str, command: str, body: Json) -> Json:
        """Show a study, change it, or publish it, which is done once."""
        if study not in self.studies:
            raise ProlificRefusal(404, "Not found.")
        found = self.studies[study]
        if body.get("action") == "PUBLISH":
            if found["status"] != "UNPUBLISHED":
                raise ProlificRefusal(400, f"A study that is {found['status']} can't be published.")
            found["status"] = "ACTIVE"
        elif command == "PATCH":
            if found["status"] == "ACTIVE" and body["total_available_places"] < found["total_available_places"]:
                raise ProlificRefusal(
                    400, {"total_available_places": ["Places can't be taken away."]}, "Validation error"
                )
            found.update(body)
        return found

    def _list(self, asked: dict[str, str]) -> Json:
        rows = [one for one in self.submissions.values() if one["study_id"] == asked["study"]]
        size, page = int(asked.get("page_size", "20")), int(asked.get("page", "1"))
        part = rows[(page - 1) * size : page * size]
        if page > 1 and not part:
            raise ProlificRefusal(404, "Invalid page.")
        names = ("id", "status", "started_at", "completed_at")
        results = [{"participant_id": one["participant"], **{name: one[name] for name in names}} for one in part]
        return {"results": results, "meta": {"count": len(rows)}}

    def _transition(self, submission: Json, body: Json) -> Json:
        wanted = DECIDED.get(body.get("action", ""))
        if wanted is None:
            raise ProlificRefusal(400, {"action": ["Not a valid choice."]}, "Validation error")
        if wanted == "REJECTED":
            wrong = {}
            if len(body.get("message", "")) < 100:
                wrong["message"] = ["Ensure this field has at least 100 characters."]
            if body.get("rejection_category") not in CATEGORIES:
                wrong["rejection_category"] = ["Not a valid choice."]
            if wrong:
                raise ProlificRefusal(400, wrong, "Validation error")
        if submission["status"] not in ("AWAITING REVIEW", "TIMED-OUT", wanted):
            raise ProlificRefusal(400, f"A submission that is {submission['status']} can't be {wanted}")
        submission["status"] = wanted
        return {name: submission[name] for name in ("id", "participant", "study_id", "status", "started_at")}

    def _set_up(self, body: Json) -> Json:
        lines = [line.split(",") for line in body["csv_bonuses"].splitlines()]
        strange = [one for one, _amount in lines if one not in self.submissions]
        if strange or body.get("study_id") != STUDY:
            raise ProlificRefusal(400, f"These ids have not taken part in the study: {strange}")
        name = f"{len(self.bulk):024x}"
        self.bulk[name] = [(one, round(float(amount) * 100)) for one, amount in lines]
        amount = sum(cents for _one, cents in self.bulk[name])
        return {"id": name, "study": STUDY, "amount": float(amount), "fees": 0.0, "total_amount": float(amount)}

    def _pay(self, name: str) -> str:
        total = sum(cents for _one, cents in self.bulk[name])
        if total > self.funds:
            raise ProlificRefusal(400, "You do not have enough funds.")
        self.funds -= total
        self.queue.extend(self.bulk[name])  # each time that it is asked for: the real one is not idempotent
        if self.pays_at_once:
            self.settle()
        return f"Bulk bonus payment with ID {name} is being processed asynchronously."


# Signed links


@cache
def private_key(seed: int = 1) -> RSAPrivateKey:
    """Make an RSA key, the same for one seed in one process."""
    return generate_private_key(public_exponent=65537, key_size=2048)


def public_key(kid: str = "key-1", seed: int = 1, **changes: Any) -> Json:
    """Return a key as Prolific publishes it."""
    key = RSAAlgorithm.to_jwk(private_key(seed).public_key(), as_dict=True)
    return {**key, "kid": kid, "alg": "RS256", "use": "sig", **changes}


def signed_token(claims: Json, *, kid: str = "key-1", seed: int = 1, header: Json | None = None, **payload: Any) -> str:
    """Write a token as Prolific puts it into a secured URL; a changed header is put before the same signature."""
    body = {"iss": "https://www.prolific.com", "exp": int(time.time()) + 600, "prolific": claims, **payload}
    token = jwt.encode(body, private_key(seed), "RS256", headers={"kid": kid})
    if header is None:
        return token
    return ".".join([base64url_encode(json.dumps(header).encode()).decode(), *token.split(".")[1:]])

"""A stand-in for Mechanical Turk's API: a real HTTP server that speaks its JSON protocol and fails as it does."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from xml.sax.saxutils import escape

from tests.annotation.recruitment.platform import CUT, HELD, HELD_AND_DONE, LOST, Json, PlatformServer, Refusal, Trouble

__all__ = ["CUT", "HELD", "HELD_AND_DONE", "LOST", "Trouble"]
PREFIX = "MTurkRequesterServiceV20170117."
ACCESS_KEY, SECRET_KEY = "AKSTANDIN", "stand-in-secret"
NOW = float(int(time.time()))
ANSWERS = (
    '<?xml version="1.0" encoding="UTF-8"?><QuestionFormAnswers xmlns="http://mechanicalturk.amazonaws.com/'
    'AWSMechanicalTurkDataSchemas/2005-10-01/QuestionFormAnswers.xsd">{}</QuestionFormAnswers>'
)


class MturkRefusal(Refusal):
    """An answer that says no, with the type and the code that MTurk gives it."""

    def __init__(self, message: str, code: str = "", kind: str = "RequestError", status: int = 400) -> None:
        stamp = f" ({int(time.time() * 1000)})"
        super().__init__(status, {"__type": kind, "Message": message + stamp, "TurkErrorCode": code})


THROTTLED = MturkRefusal("Rate exceeded", kind="ThrottlingException")
FAULT = MturkRefusal("Amazon Mechanical Turk is temporarily unable", "AWS.ServerInternal", "ServiceFault", 500)


@dataclass
class MturkServer(PlatformServer):
    """The requester's account and its workers."""

    content_type = "application/x-amz-json-1.1"

    page_size: int = 100
    hits: dict[str, Json] = field(default_factory=dict)
    assignments: dict[str, Json] = field(default_factory=dict)
    bonuses: list[Json] = field(default_factory=list)
    types: dict[str, Json] = field(default_factory=dict)
    granted: list[Json] = field(default_factory=list)
    tokens: dict[str, str] = field(default_factory=dict)
    funds: float = 1000.0

    def forget_tokens(self) -> None:
        """Let a day go by."""
        self.tokens.clear()

    # Workers

    def accept(self, hit_id: str, worker_id: str) -> str:
        """Have a worker accept a HIT; returns the assignment."""
        hit = self.hits[hit_id]
        mine = [one for one in self.assignments.values() if one["HITId"] == hit_id]
        assert hit["Expiration"] > NOW
        assert len(mine) < hit["MaxAssignments"]
        assert worker_id not in {one["WorkerId"] for one in mine}
        assignment_id = f"3ASSIGNMENT{len(self.assignments) + 1:05d}"
        self.assignments[assignment_id] = {
            "AssignmentId": assignment_id,
            "WorkerId": worker_id,
            "HITId": hit_id,
            "AcceptTime": NOW,
        }
        return assignment_id

    def submit(self, assignment_id: str, **answers: str) -> None:
        """Have a worker send the form of an accepted assignment."""
        told = "".join(
            f"<Answer><QuestionIdentifier>{escape(name)}</QuestionIdentifier><FreeText>{escape(value)}</FreeText></Answer>"
            for name, value in answers.items()
        )
        self.assignments[assignment_id] |= {
            "AssignmentStatus": "Submitted",
            "SubmitTime": NOW + 60,
            "AutoApprovalTime": NOW + 3600,
            "Answer": ANSWERS.format(told),
        }

    # What the API does

    def _name(self, handler: BaseHTTPRequestHandler) -> str:
        return handler.headers["X-Amz-Target"].removeprefix(PREFIX)

    def _answer(self, handler: BaseHTTPRequestHandler, body: Json) -> tuple[int, Json]:
        if f"Credential={ACCESS_KEY}/" not in handler.headers["Authorization"]:
            raise MturkRefusal("The security token is invalid.", kind="UnrecognizedClientException")
        operations: Mapping[str, Callable[[Json], Json]] = {
            "CreateHIT": self._create_hit,
            "GetHIT": lambda body: {"HIT": self._hit(body)},
            "ListHITs": lambda body: self._page(list(self.hits.values()), "HITs", body),
            "UpdateExpirationForHIT": self._update_expiration,
            "ListAssignmentsForHIT": self._list_assignments,
            "GetAssignment": self._get_assignment,
            "ApproveAssignment": self._approve,
            "RejectAssignment": self._reject,
            "SendBonus": self._send_bonus,
            "ListBonusPayments": self._list_bonuses,
            "CreateQualificationType": self._create_type,
            "ListQualificationTypes": self._list_types,
            "AssociateQualificationWithWorker": self._associate,
        }
        return 200, operations[self._name(handler)](body)

    def _page(self, rows: list[Json], key: str, body: Json) -> Json:
        start = int(body.get("NextToken", "0"))
        end = start + min(self.page_size, body.get("MaxResults", 10))
        more = {"NextToken": str(end)} if end < len(rows) else {}
        return {key: rows[start:end], "NumResults": len(rows[start:end]), **more}

    def _create_hit(self, body: Json) -> Json:
        token = body.get("UniqueRequestToken", "")
        if token in self.tokens:
            raise MturkRefusal(
                f'The HIT with ID "{self.tokens[token]}" already exists.', "AWS.MechanicalTurk.HITAlreadyExists"
            )
        if float(body["Reward"]) * body["MaxAssignments"] > self.funds:
            raise MturkRefusal("This Requester has insufficient funds.", "AWS.MechanicalTurk.InsufficientFunds")
        hit_id = f"3HIT{len(self.hits) + 1:05d}"
        self.hits[hit_id] = {
            "HITId": hit_id,
            "HITGroupId": "3GROUP",
            "HITStatus": "Assignable",
            "Expiration": NOW + body["LifetimeInSeconds"],
            **{key: body[key] for key in ("Title", "MaxAssignments", "Reward", "Question", "RequesterAnnotation")},
        }
        if token:
            self.tokens[token] = hit_id
        return {"HIT": self.hits[hit_id]}

    def _hit(self, body: Json) -> Json:
        if body["HITId"] not in self.hits:
            raise MturkRefusal(f"Hit {body['HITId']} does not exist.", "AWS.MechanicalTurk.HITDoesNotExist")
        return self.hits[body["HITId"]]

    def _update_expiration(self, body: Json) -> Json:
        token = f"{body['HITId']}{body['ExpireAt']}"
        if token in self.tokens:
            raise MturkRefusal(f'The idempotency token "{token}" has already been processed.')
        self._hit(body)["Expiration"] = body["ExpireAt"]
        self.tokens[token] = body["HITId"]
        return {}

    def _list_assignments(self, body: Json) -> Json:
        self._hit(body)
        rows = [one for one in self.assignments.values() if one["HITId"] == body["HITId"] and "SubmitTime" in one]
        return self._page(rows, "Assignments", body)

    def _submitted(self, body: Json) -> Json:
        found = self.assignments.get(body["AssignmentId"])
        if found is None:
            message = f"Assignment {body['AssignmentId']} does not exist."
            raise MturkRefusal(message, "AWS.MechanicalTurk.AssignmentDoesNotExist")
        return found

    def _in_state(self, body: Json, *states: str) -> Json:
        found = self._submitted(body)
        if found.get("AssignmentStatus") not in states:
            told = ",".join(states).replace("Submitted,", "Reviewable,")
            message = f"This operation can be called with a status of: {told}"
            raise MturkRefusal(message, "AWS.MechanicalTurk.InvalidAssignmentState")
        return found

    def _get_assignment(self, body: Json) -> Json:
        return {"Assignment": self._in_state(body, "Submitted", "Approved", "Rejected")}

    def _approve(self, body: Json) -> Json:
        states = ("Submitted", "Rejected") if body.get("OverrideRejection") else ("Submitted",)
        found = self._in_state(body, *states)
        found["AssignmentStatus"] = "Approved"
        found["RequesterFeedback"] = body.get("RequesterFeedback", "")
        return {}

    def _reject(self, body: Json) -> Json:
        found = self._in_state(body, "Submitted")
        found["AssignmentStatus"], found["RequesterFeedback"] = "Rejected", body["RequesterFeedback"]
        return {}

    def _send_bonus(self, body: Json) -> Json:
        token = body.get("UniqueRequestToken", "")
        if token in self.tokens:
            raise MturkRefusal(f'The idempotency token "{token}" has already been processed.')
        self._in_state(body, "Submitted", "Approved", "Rejected")
        if self._submitted(body)["WorkerId"] != body["WorkerId"]:
            raise MturkRefusal("This user is not authorized to perform the requested operation")
        if float(body["BonusAmount"]) > self.funds:
            raise MturkRefusal("This Requester has insufficient funds.", "AWS.MechanicalTurk.InsufficientFunds")
        self.bonuses.append({key: body[key] for key in ("WorkerId", "AssignmentId", "BonusAmount", "Reason")})
        if token:
            self.tokens[token] = "paid"
        return {}

    def _list_bonuses(self, body: Json) -> Json:
        rows = [one for one in self.bonuses if one["AssignmentId"] == body["AssignmentId"]]
        return self._page(rows, "BonusPayments", body)

    def _create_type(self, body: Json) -> Json:
        if any(one["Name"] == body["Name"] for one in self.types.values()):
            raise MturkRefusal("You have already created a QualificationType with this name.")
        type_id = f"3TYPE{len(self.types) + 1:05d}"
        self.types[type_id] = {"QualificationTypeId": type_id, "Name": body["Name"]}
        return {"QualificationType": self.types[type_id]}

    def _list_types(self, body: Json) -> Json:
        rows = [one for one in self.types.values() if body.get("Query", "").lower() in one["Name"].lower()]
        return self._page(rows, "QualificationTypes", body)

    def _associate(self, body: Json) -> Json:
        if body["QualificationTypeId"] not in self.types:
            raise MturkRefusal("QualificationType does not exist.")
        self.granted.append(body)
        return {}

"""Battles as FastChat and Chatbot Arena write them: two models' conversations, the winner, and who judged."""

from datetime import UTC, datetime
from typing import Any

from annotation.core.conversations import Message, Transcript, content_of, content_problem, role_of
from annotation.core.names import trim
from annotation.core.refusals import refusal
from annotation.importing.formats.comparisons import Comparison, Fields
from annotation.importing.formats.study_file import LONGEST_ID

WINNERS = {"model_a": -1, "model_b": 1, "tie": 0, "tie (bothbad)": 0}
JUDGE = "judge:"
SOURCE_MESSAGES = "source_messages"  # how many of a battle's messages are the source, which Tandem writes


def read_battle(fields: Fields, *, dataset: str) -> list[Comparison]:
    """Read one battle. A judge given as a list, or as `judge:NAME`, is a model."""
    (source, text_a), (source_b, text_b) = (_conversation(fields, f"conversation_{side}") for side in ("a", "b"))
    if source != source_b and not fields.problems:
        fields.problems.append(refusal("different_beginnings"))
    record = fields.record
    winner, judge, turn = record.get("winner"), record.get("judge"), record.get("turn")
    if "winner" not in record:
        fields.problems.append(refusal("missing", field="winner"))
    elif not isinstance(winner, str) or winner not in WINNERS:
        words = ", ".join(WINNERS)
        fields.problems.append(refusal("not_one_of_these", field="winner", value=repr(winner), words=words))
    by_judge = isinstance(judge, list) or (isinstance(judge, str) and judge.startswith(JUDGE))
    rater = " ".join(map(str, judge)) if isinstance(judge, list) else str(judge or "anonymous").removeprefix(JUDGE)
    named = record.get("question_id")
    if named is not None and "instance_id" not in record:
        suffix = f"-turn-{turn}" if isinstance(turn, int) and turn > 1 else ""
        fields.record = {**record, "instance_id": f"{named}{suffix}"[:LONGEST_ID]}
    comparison = Comparison(
        fields.number,
        **fields.place(source, dataset, "battle"),
        systems=(fields.name("model_a"), fields.name("model_b")),
        texts=(text_a, text_b),
        rater=trim(rater),
        by_judge=by_judge,
        verdict=WINNERS.get(str(winner)),
        tie_kind="bad" if winner == "tie (bothbad)" else "",
        repeat=fields.whole("repeat"),
        rated_at=_time(record.get("tstamp")),
    )
    return [comparison]


def _conversation(fields: Fields, name: str) -> tuple[str, str]:
    """Return what comes before the first answer, or the messages that Tandem counted as the source, and what follows."""
    messages: Any = fields.record.get(name)
    if not isinstance(messages, list) or len(messages) < 2:
        problem = refusal("not_conversation" if name in fields.record else "missing", field=name)
    elif (unfit := content_problem(messages, name, may_be_blank=True)) is None:
        answers = (number for number, message in enumerate(messages) if role_of(message) == "assistant")
        count = fields.whole(SOURCE_MESSAGES) or next(answers, 0) or 1
        return _part(messages[:count]), _part(messages[count:])
    else:
        problem = unfit
    fields.problems.append(problem)
    return "", ""


def _part(messages: list[Message]) -> str:
    """Return some messages of a conversation: the text of a single one, as people write questions and answers."""
    return Transcript(messages) if len(messages) > 1 else "".join(map(content_of, messages))


def _time(value: object) -> datetime | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 2**33:
        return None
    return datetime.fromtimestamp(value, UTC)

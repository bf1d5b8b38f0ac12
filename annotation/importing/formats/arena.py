"""Battles as FastChat and Chatbot Arena write them: two models' conversations, the winner, and who judged."""

from datetime import UTC, datetime
from typing import Any

from annotation.core.conversations import Message, Transcript, content_of, content_problem, role_of
from annotation.core.names import trim
from annotation.core.refusals import refusal
from annotation.importing.formats.comparisons import Comparison, Fields, Read
from annotation.importing.formats.study_file import LONGEST_ID, LONGEST_SYSTEM

WINNERS = {"model_a": -1, "model_b": 1, "tie": 0, "tie (bothbad)": 0}
JUDGE = "judge:"
SOURCE_MESSAGES = "source_messages"  # how many of a battle's messages are the source, which Tandem writes


def reader(*, dataset: str) -> Read:
    """Return what reads one battle. A judge given as a list, or as `judge:NAME`, is a model."""

    def read(fields: Fields) -> list[Comparison]:
        conversations = [_conversation(fields, f"conversation_{side}") for side in ("a", "b")]
        if len({source for source, _ in conversations}) > 1 and not fields.problems:
            fields.problems.append(refusal("different_beginnings"))
        winner = fields.record.get("winner")
        if "winner" not in fields.record:
            fields.problems.append(refusal("missing", field="winner"))
        elif winner not in WINNERS:
            fields.problems.append(
                refusal("not_one_of_these", field="winner", value=repr(winner), words=", ".join(WINNERS))
            )
        judge: Any = fields.record.get("judge")
        by_judge = isinstance(judge, list) or (isinstance(judge, str) and judge.startswith(JUDGE))
        rater = " ".join(map(str, judge)) if isinstance(judge, list) else str(judge or "anonymous").removeprefix(JUDGE)
        source, turn = conversations[0][0], fields.record.get("turn")
        named = fields.record.get("question_id")
        if named is not None and "instance_id" not in fields.record:
            suffix = f"-turn-{turn}" if isinstance(turn, int) and turn > 1 else ""
            fields.record = {**fields.record, "instance_id": f"{named}{suffix}"[:LONGEST_ID]}
        return [
            Comparison(
                fields.number,
                **fields.place(source, dataset, "battle"),
                systems=(
                    fields.name("model_a", longest=LONGEST_SYSTEM),
                    fields.name("model_b", longest=LONGEST_SYSTEM),
                ),
                texts=(conversations[0][1], conversations[1][1]),
                rater=trim(rater),
                by_judge=by_judge,
                verdict=WINNERS.get(winner) if isinstance(winner, str) else None,
                tie_kind="bad" if winner == "tie (bothbad)" else "",
                repeat=fields.whole("repeat"),
                rated_at=_time(fields.record.get("tstamp")),
            )
        ]

    return read


def _conversation(fields: Fields, name: str) -> tuple[str, str]:
    """Return what comes before the first answer, or the messages that Tandem counted as the source, and what follows."""
    messages = fields.record.get(name)
    if not isinstance(messages, list) or len(messages) < 2:
        missing = refusal("missing", field=name)
        fields.problems.append(refusal("not_conversation", field=name) if name in fields.record else missing)
        return "", ""
    if problem := content_problem(messages, name, may_be_blank=True):
        fields.problems.append(problem)
        return "", ""
    answers = (number for number, message in enumerate(messages) if role_of(message) == "assistant")
    count = fields.whole(SOURCE_MESSAGES) or next(answers, 0) or 1
    return _part(messages[:count]), _part(messages[count:])


def _part(messages: list[Message]) -> str:
    """Return some messages of a conversation: the text of a single one, as people write questions and answers."""
    return Transcript(messages) if len(messages) > 1 else "".join(map(content_of, messages))


def _time(value: object) -> datetime | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 2**33:
        return None
    return datetime.fromtimestamp(value, UTC)

"""Serializers of the API's rows. Related rows appear by name. No serializer holds a person's name or an API key."""

import json
from dataclasses import asdict
from typing import Any

from rest_framework import serializers

from analysis.judges.table_checks import SUPPORTED
from annotation.api.answers import MESSAGE, WithMessage
from annotation.importing.formats.long_form import ANSWER_COLUMNS, answer_columns
from annotation.models import (
    Annotator,
    Assignment,
    ComparisonTable,
    Flag,
    Generation,
    Hit,
    Instance,
    Matchup,
    Pair,
    Rating,
    System,
    VoteChange,
)
from judging.endpoints.services import shown_features
from judging.methods.sc2.record import shown_record
from judging.models import Completion, Endpoint, Judge, JudgeRun, Judgment, RunWorker, TableMaking
from judging.tables.checked_tables import check_pair


class InStudySerializer(serializers.ModelSerializer[Any]):
    """A row that belongs to a study directly."""

    study = serializers.CharField(source="study.slug", read_only=True)


class MessagesField(serializers.JSONField):
    """The messages of a conversation as they came, or null for a text."""

    def to_representation(self, value: Any) -> Any:
        """Parse the stored JSON."""
        return json.loads(value)


class SystemSerializer(InStudySerializer):
    """A language model with its settings."""

    class Meta:
        model = System
        fields = ["id", "study", "name", "family", "position"]


class InstanceSerializer(InStudySerializer):
    """One test input."""

    messages = MessagesField(read_only=True, allow_null=True)
    gold = serializers.JSONField(read_only=True, allow_null=True)
    metadata = serializers.JSONField(read_only=True)

    class Meta:
        model = Instance
        fields = ["id", "study", "instance_id", "dataset", "source", "messages", "gold", "metadata", "position"]


class GenerationSerializer(serializers.ModelSerializer[Generation]):
    """One output of a system for an instance."""

    messages = MessagesField(read_only=True, allow_null=True)
    study = serializers.CharField(source="instance.study.slug", read_only=True)
    instance_id = serializers.CharField(source="instance.instance_id", read_only=True)
    system = serializers.CharField(source="system.name", read_only=True)

    class Meta:
        model = Generation
        fields = ["id", "study", "instance_id", "system", "index", "text", "messages"]


class MatchupSerializer(serializers.ModelSerializer[Matchup]):
    """One instance with two systems."""

    study = serializers.CharField(source="instance.study.slug", read_only=True)
    instance_id = serializers.CharField(source="instance.instance_id", read_only=True)
    dataset = serializers.CharField(source="instance.dataset", read_only=True)
    system_a = serializers.CharField(source="system_a.name", read_only=True)
    system_b = serializers.CharField(source="system_b.name", read_only=True)

    class Meta:
        model = Matchup
        fields = ["id", "study", "instance_id", "dataset", "system_a", "system_b"]


class PairSerializer(serializers.ModelSerializer[Pair]):
    """Two generations of one matchup, in study order."""

    study = serializers.CharField(source="matchup.instance.study.slug", read_only=True)
    instance_id = serializers.CharField(source="matchup.instance.instance_id", read_only=True)
    generation_a_index = serializers.IntegerField(source="generation_a.index", read_only=True)
    generation_b_index = serializers.IntegerField(source="generation_b.index", read_only=True)

    class Meta:
        model = Pair
        fields = ["key", "study", "instance_id", "matchup", "index", "generation_a_index", "generation_b_index"]


class HitSerializer(serializers.ModelSerializer[Hit]):
    """A page of pairs."""

    study = serializers.CharField(source="batch.study.slug", read_only=True)
    batch = serializers.CharField(source="batch.name", read_only=True)
    pairs: Any = serializers.SlugRelatedField(slug_field="key", many=True, read_only=True)

    class Meta:
        model = Hit
        fields = ["key", "study", "batch", "matchup", "position", "external_id", "inclusion_probability", "pairs"]


class AssignmentSerializer(serializers.ModelSerializer[Assignment]):
    """One annotator's claim on one HIT."""

    study = serializers.CharField(source="hit.batch.study.slug", read_only=True)
    hit = serializers.CharField(source="hit.key", read_only=True)
    annotator = serializers.CharField(source="annotator.code", read_only=True)
    repeat_of = serializers.CharField(source="repeat_of.key", read_only=True, default=None, allow_null=True)

    class Meta:
        model = Assignment
        fields = [
            *("key", "study", "hit", "annotator", "purpose", "attempt", "repeat_of", "arm", "state", "seed"),
            *("claimed_at", "expires_at", "locked_at", "submitted_at", "late", "pay_due"),
            *("returned_at", "return_reason", "return_comment", "work_seconds", "excluded", "exclusion_reason"),
        ]


class OfDisplaySerializer(serializers.ModelSerializer[Any]):
    """A rater's report or answer about a displayed pair."""

    study = serializers.CharField(source="display.assignment.hit.batch.study.slug", read_only=True)
    assignment = serializers.CharField(source="display.assignment.key", read_only=True)
    rater = serializers.CharField(source="display.assignment.annotator.code", read_only=True)
    pair = serializers.CharField(source="display.pair.key", read_only=True)


class AnswerSerializer(OfDisplaySerializer):
    """An answer. `question`, `strength` and `tie_kind` are there where the study asks for them."""

    # Not `read_only`, which the schema would have in every row.
    question = serializers.CharField(required=False, help_text="Its key; where the study asks several questions.")
    strength = serializers.IntegerField(
        required=False, allow_null=True, help_text="1 slight, 2 strong, null: unknown; where the study asks for it."
    )
    tie_kind = serializers.CharField(
        required=False, help_text="good or bad, empty: unknown; where the study asks for it."
    )

    def to_representation(self, row: Rating | VoteChange) -> dict[str, Any]:
        """Name the question by its key, and leave out what the row's study does not ask for."""
        questions = row.display.assignment.hit.batch.study.questions
        left_out = set(ANSWER_COLUMNS) - set(answer_columns(questions))
        representation = {**super().to_representation(row), "question": questions[row.question].key}
        return {name: value for name, value in representation.items() if name not in left_out}


class RatingSerializer(AnswerSerializer):
    """A vote, in study order: −1 prefers A, +1 B, 0 neither."""

    a_shown_first = serializers.BooleanField(source="display.a_is_left", allow_null=True, read_only=True)
    table = serializers.CharField(source="table.table_id", read_only=True, default=None, allow_null=True)
    shown_table = serializers.CharField(source="display.table.table_id", read_only=True, default=None, allow_null=True)

    class Meta:
        model = Rating
        fields = [
            *("id", "study", "assignment", "rater", "pair", "a_shown_first", "stage", "verdict", "reason", "table"),
            *("shown_table", "arm", "active_seconds", "wall_seconds", "rated_at", "late", "translated"),
            "software_version",
            *ANSWER_COLUMNS,
        ]


class HistorySerializer(AnswerSerializer):
    """A choice in study order, as it was received. The last one of a pair, stage and question is the rating."""

    a_shown_first = serializers.BooleanField(source="display.a_is_left", allow_null=True, read_only=True)
    shown_table = serializers.CharField(source="display.table.table_id", read_only=True, default=None, allow_null=True)
    table_of = serializers.CharField(
        read_only=True,
        help_text="Texts of that table: this pair, other texts of its source, or another source.",
    )

    class Meta:
        model = VoteChange
        fields = [
            *("id", "study", "assignment", "rater", "pair", "a_shown_first", "stage", "verdict", "reason"),
            *("shown_table", "table_of", "received_at", "chosen_at", "page", "active_seconds", "wall_seconds"),
            *("source_opened", "late", "software_version"),
            *ANSWER_COLUMNS,
        ]


class FlagSerializer(OfDisplaySerializer):
    """A rater's report about a pair, or about a row (from 0) of the table beside it."""

    table = serializers.CharField(source="table.table_id", read_only=True, default=None, allow_null=True)

    class Meta:
        model = Flag
        fields = [
            *("id", "study", "assignment", "rater", "pair", "kind", "comment", "table", "row", "flagged_at"),
            "taken_back_at",
        ]


class AnnotatorSerializer(InStudySerializer):
    """A rater, by a code that identifies no person."""

    block_reason_code = serializers.CharField(
        source="block_reason.code", read_only=True, help_text="Code of the block's reason."
    )

    class Meta:
        model = Annotator
        fields = [
            *("id", "study", "code", "kind", "joined_at", "excluded", "exclusion_reason"),
            *("warned_at", "blocked_at", "block_reason", "block_reason_code"),
        ]


class ComparisonTableSerializer(InStudySerializer):
    """What only A, both, and only B say about each aspect of one pair."""

    pair = serializers.CharField(source="pair.key", read_only=True)
    aspects = serializers.JSONField(read_only=True)
    rows = serializers.JSONField(read_only=True)
    made_by = serializers.JSONField(read_only=True)

    class Meta:
        model = ComparisonTable
        fields = ["id", "study", "table_id", "pair", "variant", "aspects", "rows", "made_by"]


class TableDetailSerializer(ComparisonTableSerializer):
    """A comparison table with its checks, and how a judge created it."""

    checks = serializers.SerializerMethodField(
        help_text="By words, of each cell and in sum; by model, of scores, under `vectors`."
    )
    making = serializers.SerializerMethodField(help_text="Samples, bracket and winner, in study order; null: unknown.")

    class Meta(ComparisonTableSerializer.Meta):
        fields = [*ComparisonTableSerializer.Meta.fields, "checks", "making"]

    def get_checks(self, table: ComparisonTable) -> dict[str, Any]:
        """Check the table against its texts by words. What models say is stored."""
        checks = check_pair(table.rows, table.pair)
        return {
            "threshold": SUPPORTED,
            **asdict(checks.summary),
            "rows": [{name: asdict(cell) for name, cell in row.items()} for row in checks.rows],
            "vectors": {check.model: check.found for check in table.checks.order_by("model")},
        }

    def get_making(self, table: ComparisonTable) -> dict[str, Any] | None:
        """Return the record of the first judgment that made it."""
        making = TableMaking.objects.filter(table=table).order_by("judgment").first()
        return shown_record(making.record) if making else None


class EndpointSerializer(serializers.ModelSerializer[Endpoint]):
    """A model service that judges call. The key is given by the name of its variable, headers by their names."""

    headers = serializers.SerializerMethodField()
    supports = serializers.SerializerMethodField()

    class Meta:
        model = Endpoint
        fields = [
            *("name", "base_url", "model", "key_env", "headers", "timeout_seconds", "requests_per_minute"),
            *("tokens_per_minute", "price_prompt", "price_completion", "batch_discount", "cached_discount", "currency"),
            *("supports", "tested_at", "created_at"),
        ]

    def get_supports(self, endpoint: Endpoint) -> dict[str, Any]:
        """Return what the last test found."""
        return shown_features(endpoint)

    def get_headers(self, endpoint: Endpoint) -> list[str]:
        """Name the headers that are sent. What they hold may be meant for the endpoint alone."""
        return sorted(endpoint.headers)


class JudgeSerializer(serializers.ModelSerializer[Judge]):
    """An auto-rater and its settings."""

    endpoint = serializers.CharField(source="endpoint.name", read_only=True, default=None, allow_null=True)
    table_endpoint = serializers.CharField(
        source="table_endpoint.name", read_only=True, default=None, allow_null=True, help_text="Of its tables."
    )
    prompt_file = serializers.CharField(read_only=True, allow_null=True, help_text="NAME.vVERSION of an own wording.")
    params = serializers.JSONField(read_only=True)

    class Meta:
        model = Judge
        fields = [
            *("name", "method", "endpoint", "table_endpoint", "order", "combine", "repeats", "negated", "task"),
            *("prompt_file", "family", "params", "system_prompt", "table_variant", "texts_first", "seed", "created_at"),
        ]


class RunWorkerSerializer(serializers.ModelSerializer[RunWorker]):
    """A process working on a run. It is alive while its heartbeat is recent."""

    class Meta:
        model = RunWorker
        fields = ["started_at", "heartbeat_at", "in_flight"]


class JudgeRunSerializer(WithMessage, InStudySerializer):
    """One judge on the pairs of one study or batch, as far as `filter` allows. If the study asks several questions, `questions` has the keys of those that the run answers."""

    judge = serializers.CharField(source="judge.name", read_only=True)
    batch = serializers.CharField(source="batch.name", read_only=True, default=None, allow_null=True)
    filter = serializers.JSONField(source="pair_filter", read_only=True)
    # Not `read_only`, which the schema would have in every row.
    questions = serializers.ListField(
        child=serializers.CharField(), required=False, help_text="Their keys; where the study asks several questions."
    )
    workers = RunWorkerSerializer(many=True, read_only=True)

    class Meta:
        model = JudgeRun
        fields = [
            *("id", "study", "judge", "batch", "filter", "status", "way", "batch_size", "in_flight", "max_cost"),
            *(*MESSAGE, "created_at", "started_at", "finished_at", "software_version", "workers", "questions"),
        ]

    def to_representation(self, run: JudgeRun) -> dict[str, Any]:
        """Name the questions by their keys, and leave them out where there is one only."""
        questions = run.study.questions
        representation = {
            **super().to_representation(run),
            "questions": [questions[number].key for number in run.questions],
        }
        return representation if len(questions) > 1 else _without(representation, "questions")


class JudgmentSerializer(serializers.ModelSerializer[Judgment]):
    """One presentation of one pair to a judge. Verdict, probability and scores are in study order. Tokens and cost are of its calls, without cached answers; null is unknown."""

    study = serializers.CharField(source="run.study.slug", read_only=True)
    judge = serializers.CharField(source="run.judge.name", read_only=True)
    pair = serializers.CharField(source="pair.key", read_only=True)
    reason_code = serializers.CharField(source="failure.code", read_only=True, help_text="Code of the failure's text.")
    completions: Any = serializers.SlugRelatedField(slug_field="cache_key", many=True, read_only=True)
    # Not `read_only`, which the schema would have in every row.
    question = serializers.CharField(required=False, help_text="Its key; where the study asks several questions.")

    class Meta:
        model = Judgment
        fields = [
            *("id", "study", "run", "judge", "pair", "order", "repeat", "negated", "status", "verdict", "p_b"),
            *("score_a", "score_b", "token_mass", "rationale", "failure", "failure_code", "cause", "calls", "cached"),
            *(
                "reason_code",
                "prompt_tokens",
                "completion_tokens",
                "cost",
                "completions",
                "prompt_version",
                "parser_version",
            ),
            *("judged_at", "question"),
        ]

    def to_representation(self, judgment: Judgment) -> dict[str, Any]:
        """Name the question by its key, and leave it out where there is one only."""
        questions = judgment.run.study.questions
        representation = {**super().to_representation(judgment), "question": questions[judgment.question].key}
        return representation if len(questions) > 1 else _without(representation, "question")


def _without(representation: dict[str, Any], field: str) -> dict[str, Any]:
    return {name: value for name, value in representation.items() if name != field}


class CompletionSerializer(serializers.ModelSerializer[Completion]):
    """A raw answer of an endpoint."""

    request = serializers.JSONField(read_only=True)
    response = serializers.JSONField(read_only=True)

    class Meta:
        model = Completion
        fields = [
            *("cache_key", "kind", "request", "sample", "text", "finish_reason", "response", "prompt_tokens"),
            *("completion_tokens", "cost", "latency_ms", "created_at", "list_price", "expected_prompt_tokens"),
            *("served_model", "fingerprint", "provider"),
        ]

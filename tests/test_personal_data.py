"""What is held about people: docs/privacy.md names every field that holds some, and all others stand here."""

import re
from collections import Counter
from pathlib import Path

import pytest
from django.apps import apps

pytestmark = pytest.mark.slow

DOCUMENT = Path(__file__).resolve().parent.parent / "docs" / "privacy.md"
# Fields without personal data. Of a study and a batch, which researchers make, all that the page does not name.
ALL_OTHERS = "*"
JOB = "status message done total rate created_at heartbeat_at executor ended_at software_version"
ASKING = f"{JOB} in_flight max_cost"
BILLED = f"{ASKING} calls cached prompt_tokens completion_tokens cost currency counted_until"
OTHER = {
    "annotation.ResearchGroup": "slug name created_at",
    "annotation.Study": ALL_OTHERS,
    "annotation.ImportRecord": "study kind file_name sha256 options counts added taken_back_at imported_at",
    "annotation.Upload": "key study kind names options size status executor asked_at finished_at",
    "annotation.System": "study name family position",
    "annotation.Instance": "study instance_id dataset source messages gold metadata position",
    "annotation.Generation": "instance system index text messages text_md5",
    "annotation.Matchup": "instance system_a system_b",
    "annotation.Pair": "key matchup index generation_a generation_b",
    "annotation.ComparisonTable": "study table_id pair variant aspects rows made_by",
    "annotation.Annotator": "study",
    "annotation.Batch": ALL_OTHERS,
    "annotation.Hit": "key batch matchup position external_id inclusion_probability",
    "annotation.HitPair": "hit pair position",
    "annotation.Slot": "hit batch number position arm assignment",
    "annotation.Assignment": "key seed",
    "annotation.Event": "study kind batch happened_at",
    "annotation.ArmDraw": "study instance",
    "annotation.AuditEntry": "happened_at account method action about status request_id changes",
    "annotation.Channel": "key study batch kind name is_open created_at",
    "annotation.Mail": "key kind state language attempts due_at",
    "annotation.PlatformAction": "channel kind attempts created_at ended_at",
    "annotation.WebhookEvent": "channel",
    "annotation.SeparabilityRun": "similarity model model_fingerprint samples cross_pairs seed study dataset system_a "
    "system_b group low high texts_sha256 short computed_at seconds software_version",
    "annotation.Alignment": "digest self_a self_b cross run matchup separability",
    "annotation.StagedAlignment": "digest self_a self_b cross measure_sha256 matchup staged_at",
    "annotation.SeparabilityJob": f"study asked {JOB}",
    "annotation.TextVector": "model text_sha256 vector made_at",
    "auth.User": "is_superuser is_staff",
    "auth.Group": "name",
    "auth.Group_permissions": "group permission",
    "auth.Permission": "name content_type codename",
    "contenttypes.ContentType": "app_label model",
    "admin.LogEntry": "content_type action_flag",
    "axes.AccessAttempt": "failures_since_start",
    "axes.AccessAttemptExpiration": "access_attempt expires_at",
    "django_tasks_database.DBTaskResult": "status enqueued_at started_at finished_at args_kwargs priority task_path "
    "worker_ids queue_name backend_name run_after return_value exception_class_path traceback",
    "judging.Endpoint": "name base_url model key_env timeout_seconds headers requests_per_minute tokens_per_minute "
    "price_prompt price_completion batch_discount cached_discount currency supports tested_at created_at",
    "judging.PromptFile": "group name version text system_prompt form parser created_at",
    "judging.Judge": "name method endpoint order combine repeats negated task prompt_file family params system_prompt table_variant texts_first "
    "table_endpoint seed tuned created_at",
    "judging.GenerationRun": "study name endpoint base_url model template template_version system_prompt samples "
    "temperature top_p params seed keep_refusals settings_key selection "
    f"longest cut left_out left_out_count {BILLED}",
    "judging.JudgeRun": "study judge batch pair_filter filter_key questions tables_as status way batch_size in_flight max_cost "
    "message created_at started_at finished_at software_version",
    "judging.JudgeAudit": f"study judge question dataset pairs seed changes settings_key model {BILLED}",
    "judging.AuditAnswer": "audit pair change order side text status verdict p_b rationale failure prompt_version parser_version "
    "judged_at",
    "judging.JudgeTuning": f"study judge name question settings plan found tuned {ASKING}",
    "judging.RunHolder": "run executor renewed_at",
    "judging.RunWorker": "run executor started_at heartbeat_at in_flight reserved",
    "judging.ProviderBatch": "run input_file provider_id status requests keys message created_at ended_at",
    "judging.Completion": "cache_key base_url request sample kind text finish_reason response prompt_tokens "
    "completion_tokens cost latency_ms created_at list_price expected_prompt_tokens served_model fingerprint provider",
    "judging.Judgment_completions": "judgment completion",
    "judging.Judgment": "run pair order repeat negated question status verdict p_b score_a score_b token_mass rationale failure failure_code cause calls "
    "cached prompt_tokens completion_tokens cost worker prompt_version parser_version judged_at",
    "judging.RationaleMark": "judgment sound",
    "judging.TableMaking": "judgment table record",
    "judging.AspectSet": "group task version aspects made_by created_at",
    "judging.Distillation": f"study endpoint pairs seed params found {ASKING}",
    "judging.TableCheck": "table endpoint model found made_at",
    "reporting.DataChanges": "study connection number",
    "reporting.Sign": "name at went_well",
    "reporting.FindingsSnapshot": "study key version departed read_at checked_at",
    "reporting.MadeFile": f"key study kind options size departed {JOB}",
}


def personal_fields() -> list[tuple[str, str, str]]:
    """Return the rows of the page's table: table, field, and what deleting a rater's data does to it."""
    rows = re.findall(
        r"^\| `(.+?)` \| (.+?) \| .+? \| (.+?)(?:: .*)? \|$", DOCUMENT.read_text(encoding="utf-8"), re.MULTILINE
    )
    return [(model, field.strip("`"), fate) for model, fields, fate in rows for field in fields.split(", ")]


def stored_fields() -> set[tuple[str, str]]:
    return {
        (model._meta.label, field.name)
        for model in apps.get_models(include_auto_created=True)
        if not model._meta.proxy
        for field in model._meta.local_concrete_fields
        if field.name != "id"
    }


def test_every_field_is_listed_once_as_personal_or_not() -> None:
    stored = stored_fields()
    personal = [(model, field) for model, field, _fate in personal_fields()]
    others = [
        (model, name)
        for model, names in OTHER.items()
        for name in (names.split() if names != ALL_OTHERS else [field for of, field in stored if of == model])
        if names != ALL_OTHERS or (model, name) not in personal
    ]
    listed = Counter([*personal, *others])
    unlisted, gone = stored - set(listed), set(listed) - stored
    told = "name it in docs/privacy.md or in OTHER, and see what deleting does to it"
    assert not unlisted, f"{told}: {sorted(unlisted)}"
    assert not gone, f"listed, but there is no such field: {sorted(gone)}"
    assert [field for field, times in listed.items() if times > 1] == []

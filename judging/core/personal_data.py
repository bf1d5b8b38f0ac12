"""The personal data in judging's tables, all of it about researchers. See `annotation.privacy.personal_data`."""

from annotation.privacy.personal_data import JOB, Entry, Fate

PERSONAL = (
    Entry(
        "judging.RationaleMark",
        "marker note marked_at",
        "a researcher's mark on a rationale",
        Fate.KEPT,
        "the account that gave it is stripped of its name when it is deleted",
    ),
    Entry("judging.GenerationRun", "by", "who started it", Fate.KEPT, "a researcher's user name"),
    Entry("judging.Distillation", "by", "who started it", Fate.KEPT, "a researcher's user name"),
)

ASKING = f"{JOB} in_flight max_cost"
BILLED = f"{ASKING} calls cached prompt_tokens completion_tokens cost currency counted_until"
OTHER = {
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
}

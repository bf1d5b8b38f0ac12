"""Which page of the documentation helps with which page of the program."""

TOPICS = {
    "tutorial/first_study.md": "studies",
    "howto/set_up_a_study.md": "new-study study study-settings copy-study study-log archive",
    "howto/make_a_batch.md": "new-batch batch-choice extend-batch copy-batch batch-preview",
    "howto/watch_a_batch.md": "batch batch-idle batch-message rater reports",
    "howto/recruit.md": "channels new-channel channel links",
    "howto/plan_a_study.md": "planner separability instances instance",
    "howto/add_a_judge.md": "judges new-judge estimate",
    "howto/run_judges.md": "run judgments start steer",
    "howto/comparison_tables.md": "tables table make-tables aspects table-effect",
    "howto/sample_texts.md": "generate",
    "howto/set_up_endpoints.md": "endpoints endpoint new-endpoint",
    "howto/improve_a_judge.md": "prompts prompt new-jury tunings estimate-tuning start-tuning",
    "howto/judge_the_judges.md": "judge-accuracy judgment compare mark",
    "howto/audit_a_judge.md": "logic contradictions",
    "measures.md": "findings leaderboard disagreements",
    "data.md": "upload downloads",
    "roles.md": "members groups group",
    "api.md": "token",
}
_BY_VIEW = {view: page for page, views in TOPICS.items() for view in views.split()}
OTHERWISE = "glossary.md"


def help_page(view_name: str) -> str:
    """Return the page of the documentation for a view, named as in `annotation:study`; the glossary for others."""
    return _BY_VIEW.get(view_name.rpartition(":")[2], OTHERWISE)

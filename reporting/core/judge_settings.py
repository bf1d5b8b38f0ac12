"""What of a judge stands beside its numbers, read from the database."""

from judging.models import Judge
from reporting.core.wordings import JudgeSettings


def settings_of(judge: Judge) -> JudgeSettings:
    """Return the settings of a judge."""
    return JudgeSettings(
        name=judge.name,
        method=judge.method,
        params=judge.params,
        endpoint=judge.endpoint.name if judge.endpoint else None,
        model=judge.endpoint.model if judge.endpoint else "",
        wording=str(judge.prompt_file) if judge.prompt_file else judge.task,
    )

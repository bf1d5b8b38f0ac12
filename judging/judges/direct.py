"""The direct judge: one sentence of comparison, then the choice (Rafailov et al. 2023, appendix on win rates)."""

from analysis.types import Verdict
from judging.judges.answers import VerdictForm
from judging.judges.base import PromptedMethod, register

FORM = VerdictForm(
    labels=("preferred", "more helpful"),
    nouns=("summary", "response", "text", "option"),
    letters=("A", "B"),
    opening="comparison",
)


@register
class Direct(PromptedMethod):
    """Compares in one sentence and then chooses A or B; a tie is not on offer."""

    name = "direct"
    parser_version = "direct.1"
    prompts = {
        "summarization": "direct.summarization.v1.txt",
        "summarization-concise": "direct.summarization-concise.v1.txt",
        "dialogue": "direct.dialogue.v1.txt",
        "free": "direct.free.v1.txt",
    }
    offered = {"A": Verdict.A, "B": Verdict.B}

    def parse(self, completion: str) -> Verdict:
        """Take the last verdict line, or a lone letter at the very end."""
        return self.offered[FORM.read(completion).letter]

    def rationale(self, completion: str) -> str:
        """Return the comparison that precedes the verdict."""
        return FORM.read(completion).rationale

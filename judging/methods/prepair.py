"""PrePair: assess each text by itself, then choose between both (Jeong et al. 2025, §4).

Also its ablation PrePair*, which assesses both at once, and variants with criteria generated for each instance.
"""

from collections.abc import Mapping

from judging.methods.base import Call, Presentation, Setting, register
from judging.methods.parsing.scores import read_critique
from judging.methods.prompted import Preparation, PromptedMethod, plain_call


def critique_call(presentation: Presentation, setting: Setting, text: str, *, criteria: str = "") -> Call:
    """Return the call to assess one text, which depends on that text and its instance only.

    It is the same for the negated question.
    """
    prompt = "critique-by-criteria.v1.txt" if criteria else "critique.v1.txt"
    texts = {"source": presentation.source, "text": text, "criteria": criteria}
    return plain_call("critique", prompt, presentation, setting, texts, read_critique, reusable=True)


def criteria_call(presentation: Presentation, setting: Setting) -> Call:
    """Return the call for the criteria of an instance, which shows neither text."""
    texts = {"source": presentation.source}
    return plain_call("metrics", "metrics.v1.txt", presentation, setting, texts, read_critique, reusable=True)


class WithNotes(PromptedMethod):
    """Uses the assessments as the rationale of the verdict."""

    def reasons(self, values: Mapping[str, str]) -> str:
        """Return the assessments."""
        if "notes" in values:
            return values["notes"]
        return f"A: {values['notes_first']}\n\nB: {values['notes_second']}"


@register
class PrePair(WithNotes):
    """Assesses each text by itself, once for all its pairs, and then chooses."""

    name = "prepair"
    prompt = "prepair.v1.txt"
    further = ("critique.v1.txt",)

    def prepare(self, presentation: Presentation, setting: Setting) -> Preparation:
        """Assess each text."""
        first, second = yield [
            critique_call(presentation, setting, text) for text in (presentation.first, presentation.second)
        ]
        return {"notes_first": first, "notes_second": second}


@register
class PrePairSideBySide(WithNotes):
    """Assesses both texts in one answer, side by side, and then chooses: PrePair* of the paper."""

    name = "prepair-star"
    prompt = "prepair-star.v1.txt"
    further = ("critiques.v1.txt",)

    def prepare(self, presentation: Presentation, setting: Setting) -> Preparation:
        """Assess both texts in one call."""
        texts = {"source": presentation.source, "first": presentation.first, "second": presentation.second}
        [notes] = yield [plain_call("critique", "critiques.v1.txt", presentation, setting, texts, read_critique)]
        return {"notes": notes}


@register
class SelfGeneratedMetrics(PromptedMethod):
    """Writes down criteria for the instance, once for all its pairs, and chooses by them."""

    name = "sgm"
    prompt = "sgm.v1.txt"
    further = ("metrics.v1.txt",)

    def prepare(self, presentation: Presentation, setting: Setting) -> Preparation:
        """Generate the criteria."""
        [criteria] = yield [criteria_call(presentation, setting)]
        return {"criteria": criteria}

    def reasons(self, values: Mapping[str, str]) -> str:
        """Return the criteria as the rationale."""
        return values["criteria"]


@register
class PrePairWithMetrics(WithNotes):
    """Writes down criteria for the instance, assesses each text by them, and then chooses."""

    name = "sgm-prepair"
    prompt = "sgm-prepair.v1.txt"
    further = ("metrics.v1.txt", "critique-by-criteria.v1.txt")

    def prepare(self, presentation: Presentation, setting: Setting) -> Preparation:
        """Generate the criteria, then assess both texts by them."""
        [criteria] = yield [criteria_call(presentation, setting)]
        first, second = yield [
            critique_call(presentation, setting, text, criteria=criteria)
            for text in (presentation.first, presentation.second)
        ]
        return {"criteria": criteria, "notes_first": first, "notes_second": second}

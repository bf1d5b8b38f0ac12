"""The method of imported judges, whose verdicts were made elsewhere."""

from judging.core.errors import BadSettings
from judging.methods.base import Method, Setting, register


@register
class Imported(Method):
    """Holds verdicts of `import_judgments`, which are counted and analysed like those of any other judge.

    options : `label`, what the file calls the judge, where that is no name here
    """

    name = "imported"
    needs_endpoint = False
    parser_version = "imported.1"
    options = {"label": ""}

    def prompt_version(self, task: str, setting: Setting) -> str:
        """Nothing is asked, so there is no prompt."""
        return ""

    def check(self, task: str, setting: Setting) -> None:
        """Refuse every run.

        Raises: BadSettings
        """
        raise BadSettings("a judge of method imported can't be run; import more verdicts with import_judgments")

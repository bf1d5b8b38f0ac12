"""add_prompt FILE [--name NAME] [--parser P] [--group G]"""

from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from annotation.management.commands._base import TandemCommand, argument, read_file
from annotation.members.groups import find_group
from judging.wordings.checks import READERS, asks_for_marks
from judging.wordings.prompt_files import add_prompt
from judging.wordings.prompt_text import read_prompt
from judging.wordings.published_forms import FORMS, read_published


class Command(TandemCommand):
    help = "Add a prompt file for judges. A new text under an existing name is its next version."

    arguments = (
        argument("file", metavar="FILE", help="the prompt in UTF-8; a head may give name and parser"),
        argument("--name", default="", metavar="NAME", help="default: the name in the head, or of the file"),
        argument("--parser", default="", metavar="P", help=f"what reads the verdict: {', '.join(READERS)}"),
        argument("--form", choices=list(FORMS), help="form of a prompt file published by another project"),
        argument("--entry", default="", metavar="E", help="which prompt of such a file, if it holds several"),
        argument("--group", default="", metavar="G", help="group that it belongs to (default: all groups)"),
    )

    def handle(self, *args: Any, **options: Any) -> None:
        data, file_name = read_file(options["file"])
        if options["entry"] and not options["form"]:
            raise CommandError("--entry names a prompt of a published file: give its --form")
        prompt_text = read_published(data, options["form"], options["entry"]) if options["form"] else read_prompt(data)
        prompt, is_new = add_prompt(
            prompt=prompt_text,
            name=options["name"] or prompt_text.name or Path(file_name).stem,
            parser=options["parser"],
            group=find_group(options["group"]) if options["group"] else None,
        )
        if prompt.parser == "brackets" and not asks_for_marks(f"{prompt.system_prompt}{prompt.text}"):
            self.stderr.write(
                "notice: neither its text nor its system message says how to answer; give its judges a system message that does "
                "(add_judge --system-prompt)"
            )
        owner = f"group {prompt.group}" if prompt.group else "all groups"
        self.stdout.write(f"prompt {prompt} {'added' if is_new else 'unchanged'}: parser {prompt.parser}, for {owner}")

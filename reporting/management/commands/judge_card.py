"""judge_card STUDY --judge NAME [--question KEY] [--format text|json] [--out FILE.html]"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from annotation.management.commands._base import TandemCommand, argument
from annotation.studies.questions import find_question
from annotation.studies.services import find_study
from judging.runs.judges import find_judge
from reporting.audits.card import Card, about_question, judge_card
from reporting.audits.card_page import card_alone, card_sections, settings_rows
from reporting.audits.stress_text import as_text as stress_text
from reporting.core.text import estimate_text, printable
from reporting.findings.data.inputs import Filters
from reporting.findings.study_findings import findings_under

CHANGED = {True: "the judge has changed", False: "no change is shown", None: "too little to tell"}


class Command(TandemCommand):
    help = "Print all that a study knows of a judge, or write it as one HTML page that stands alone."

    arguments = (
        argument("slug", metavar="STUDY", help="the study"),
        argument("--judge", required=True, metavar="NAME"),
        argument("--question", default="", metavar="KEY", help="of several questions, the one that it is about"),
        argument("--format", choices=["text", "json"], default="text"),
        argument("--out", type=Path, metavar="FILE", help="write the page into this file, which must not be there yet"),
    )

    def handle(self, *args: Any, slug: str, out: Path | None, **options: Any) -> None:
        study, judge = find_study(slug), find_judge(options["judge"])
        question = find_question(study, options["question"]).number
        numbers = findings_under(study, Filters(question=about_question(study, question)))
        card = judge_card(study, judge, numbers, question=question)
        if out is None:
            self.say_numbers(card, options["format"], lambda found: "\n".join(lines(found)))
            return
        try:
            with out.open("x", encoding="utf-8") as file:
                file.write(card_alone(study, judge, card))
        except FileExistsError:
            raise CommandError(f"{out} is there already") from None
        except OSError as error:
            raise CommandError(f"{out} can't be written: {error.strerror}") from None
        self.say(str(out))


def lines(card: Card) -> Iterator[str]:
    """Write a card as lines of text."""
    yield f"judge {printable(card['judge'])} on study {printable(card['study'])}"
    yield from (f"  {name}: {printable(value)}" for name, value in settings_rows(card))
    for section in card_sections(card):
        yield f"{section['title']}: not known: {section['why']}" if section["why"] else f"{section['title']}:"
        for table in section["tables"]:
            yield from [f"  {printable(table['caption'])}"] if table["caption"] else []
            for label, found, people in table["rows"]:
                beside = f"; people: {estimate_text(people)}" if people else ""
                yield f"  {label}: {estimate_text(found)}{beside}"
        if "stress" in section:
            yield from (f"  {line}".rstrip() for line in stress_text(section["stress"]["found"]).splitlines())
        yield from (f"  {label}: {value}" for label, value in section.get("facts", ()))
        if "drift" in section:
            yield f"  {CHANGED[section['drift']['drifted']]}"

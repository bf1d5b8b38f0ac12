"""The page on making batches, walked through: its commands are taken from the page itself."""

import re
import shlex
from pathlib import Path

import pytest
from django.core.management import call_command

from annotation.models import Batch, Event
from tests.howto import text_of

ROOT = Path(__file__).resolve().parent.parent.parent.parent
PAGE = text_of("docs/howto/make_a_batch.md")

pytestmark = pytest.mark.django_db


@pytest.mark.slow
def test_the_page_can_be_walked_through(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    lines = [line for block in re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL) for line in block.strip().splitlines()]
    for line in lines:
        program, *arguments = shlex.split(line)
        assert program == "./manage.py"
        call_command(*arguments)

    main, again = Batch.objects.order_by("pk")
    assert (main.status, main.raters_per_hit, main.hits.count(), main.slots.count()) == ("open", 5, 9, 45)
    assert (again.status, again.raters_per_hit, again.hits.count()) == ("closed", 5, 6)
    kinds = list(Event.objects.filter(batch=main).order_by("pk").values_list("kind", flat=True))
    assert kinds == ["launched", "paused", "launched", "extended", "extended"]

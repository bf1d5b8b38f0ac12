"""Storing a bundle in an empty database, and comparing what is computed and written of it with what the bundle states."""

import json
import subprocess
import sys
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import zip_longest
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import quote

from django.conf import settings
from django.db import transaction

from annotation.core.reasons import Reason, reason, restored
from annotation.models import Study
from annotation.models.members import main_group
from annotation.planning.frozen_plans import frozen_plan, hash_of
from annotation.studies.services import validate
from reporting.bundle.layout import PLAN, BadBundle, Progress, row_file, silent
from reporting.bundle.numbers import Numbers, all_numbers, parts_of
from reporting.bundle.opening import Bundle, open_bundle
from reporting.bundle.rows import READABLE, description_of
from reporting.bundle.storing import settings_of, store
from reporting.exports.folders import as_json

MOST_LISTED = 20
MISSING = object()
ANSWER = "answer"
# Under these a text names what a number is of.
NAMES = {
    *("study", "question", "dataset", "batch", "instance", "similarity"),
    *("rater", "raters", "wording", "judge", "judge_a", "judge_b"),
    *("system", "system_a", "system_b", "systems", "opponent", "first", "second", "arm", "control", "variant"),
    *("similarities", "label", "between", "models", "cut"),
    *("subset", "method", "model", "wording"),
    *("endpoint", "table_endpoint", "table_model", "table_variant", "scheme", "aspects"),
}


def verify_bundle(folder: Path, progress: Progress = silent) -> Bundle:
    """Check a bundle's files against its manifest, and its numbers and readable rows against its records.

    Raises: BadBundle naming the file, or the numbers that differ.
    """
    bundle = open_bundle(folder)
    bundle.check_files(progress)
    return replace(bundle, reworded=compare_elsewhere(folder))


def compare_elsewhere(folder: Path) -> int:
    """Have another process do `compare_here` on an empty SQLite database of its own.

    Raises: BadBundle as it does.
    """
    with TemporaryDirectory(prefix="tandem-verifying-", dir=settings.DATA_DIR) as scratch:
        environment = settings.PROGRAM_ENVIRONMENT(DATABASE_URL=f"sqlite:///{quote(scratch)}/bundle.sqlite3")
        command = [sys.executable, "-m", "config", "verify_bundle", str(folder.resolve()), "--here"]
        program = subprocess.run(command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    if program.returncode:
        last_line = program.stderr.decode(errors="replace").strip().rpartition("\n")[2]
        raise BadBundle(reason("numbers_not_computed", error=last_line))
    result = json.loads(program.stdout)
    if "problem" in result:
        raise BadBundle(restored(result["problem"]))
    return int(result["reworded"])


def compare_here(folder: Path) -> int:
    """Store a bundle in this database, which is empty, and compare what follows from it with numbers and readable rows.

    returns : how many texts are worded otherwise (see `refuse_differences`)
    Raises: BadBundle listing the numbers that differ, or naming the first row.
    """
    bundle = open_bundle(folder)
    with transaction.atomic():
        study = Study(slug=bundle.study["study"], group=main_group(), **settings_of(bundle))
        validate(study)
        study.save()
        store(bundle, study, keep_keys=True)
    plan = frozen_plan(study)
    stored = (plan.as_json(), hash_of(plan.text), plan.sha256) if plan else (None, None, None)
    in_file = bundle.manifest["files"].get(PLAN, {}).get("sha256")
    if (bundle.manifest.get("plan"), in_file, in_file) != stored:
        raise BadBundle(reason("plan_differs"))
    reworded = refuse_differences(bundle.numbers, all_numbers(study, bundle.contents), "numbers_not_of_rows")
    if bundle.study != json.loads(as_json(description_of(study))):
        raise BadBundle(reason("study_differs"))
    for name, rows in READABLE.items():
        written = (as_json(row).encode() + b"\n" for row in rows(study, bundle.contents))
        for number, (line, row) in enumerate(zip_longest(bundle.lines(name), written), start=1):
            if line != row:
                raise BadBundle(reason("row_differs", file=row_file(name), number=number))
    return reworded


def refuse_differences(stated: Numbers, computed: Numbers, code: str, *, other_name: bool = False) -> int:
    """Compare the stated numbers, and the names beside them, with the computed ones, to the last digit.

    code       : of the refusal
    other_name : whether the study may have another name
    returns : how much else differs: sentences and codes, the answer's among them, and what is found and not stated. Code of
              another day words these in its own way, and may know of further numbers; of the same code there are none
    Raises: BadBundle listing the first that differ.
    """
    without = ("version", "study") if other_name else ("version",)
    listed = list(_differences(_plain(stated, without), _plain(computed, without), ""))
    differing = [difference for difference in listed if difference is not None]
    if differing:
        more = len(differing) - MOST_LISTED
        shown = [*differing[:MOST_LISTED], *([reason("and_more", number=more)] if more > 0 else [])]
        raise BadBundle(reason(code, number=len(differing), differing=shown))
    return len(listed)


def _plain(numbers: Numbers, without: Iterable[str]) -> Numbers:
    """Return numbers as they are in JSON, without what tells by which software, or of which study, they are."""
    plain: Numbers = json.loads(json.dumps(numbers))
    for part in parts_of(plain):
        for name in without:
            part.pop(name, None)
    return plain


def _differences(stated: Any, computed: Any, path: str, key: str = "") -> Iterator[Reason | None]:
    """Yield how a number, or a name beside one, differs; None for anything else that does."""
    if key == ANSWER and stated != computed:
        yield None
    elif isinstance(stated, dict) and isinstance(computed, dict):
        yield from (None for name in computed if name not in stated)
        for name, value in stated.items():
            yield from _differences(value, computed.get(name, MISSING), f"{path}.{name}" if path else name, name)
    elif isinstance(stated, list) and isinstance(computed, list) and len(stated) == len(computed):
        for index, (first, second) in enumerate(zip(stated, computed, strict=True)):
            yield from _differences(first, second, f"{path}[{index}]", key)
    elif type(stated) is not type(computed) or stated != computed:
        is_text = isinstance(stated, str) and (isinstance(computed, str) or computed is MISSING) and key not in NAMES
        yield None if is_text else reason("number_differs", path=path, stated=_shown(stated), found=_shown(computed))


def _shown(value: Any) -> str:
    text = "nothing" if value is MISSING else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 100 else f"{text[:100]}…"

"""A study's bundle: its numbers follow from its rows, and a study made of it has the same findings."""

from pathlib import Path
import pytest
from tests.whole_study import build_whole_study
from reporting.bundle.exporting import export_bundle
from reporting.bundle.importing import import_bundle
from reporting.bundle.verifying import verify_bundle

@pytest.mark.django_db
def test_it(tmp_path):
    whole = build_whole_study("acme")
    export_bundle(whole.study, tmp_path/"b")
    verify_bundle(tmp_path/"b")
    import subprocess; print(subprocess.check_output(["ls","-lR",str(tmp_path/"b")],text=True))
    import_bundle(tmp_path/"b", slug="copy")
    export_bundle(__import__("annotation.models",fromlist=["Study"]).Study.objects.get(slug="copy"), tmp_path/"c")
    assert 0

"""The database settings that DATABASE_URL comes to."""

from typing import Any

import pytest

from config import env


def options(monkeypatch: pytest.MonkeyPatch, url: str, **settings: Any) -> dict[str, Any]:
    monkeypatch.setattr(env, "DATABASE_URL", url)
    for name, value in settings.items():
        monkeypatch.setattr(env, name, value)
    found = env.database()["OPTIONS"]
    assert isinstance(found, dict)
    return found


def test_postgresql_keeps_the_options_of_its_address(monkeypatch: pytest.MonkeyPatch) -> None:
    found = options(monkeypatch, "postgres://somebody@db.example/tandem?sslmode=require&connect_timeout=3")
    assert (found["sslmode"], found["connect_timeout"]) == ("require", 3)
    assert "pool" in found


@pytest.mark.parametrize(("wanted", "threshold"), [(True, 5), (False, None)])
def test_statements_are_prepared_unless_a_pooler_is_in_between(
    monkeypatch: pytest.MonkeyPatch, wanted: bool, threshold: int | None
) -> None:
    found = options(monkeypatch, "postgres://somebody@db.example/tandem", PREPARE_STATEMENTS=wanted)
    assert found["prepare_threshold"] == threshold

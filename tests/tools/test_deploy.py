"""The files of a deployment speak of what is there: settings, folders, commands; containers have no more rights than needed."""

import re
import tomllib
from typing import Any

import pytest
import yaml

from tests.tools.helpers import ROOT

COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "compose.yaml").read_text(encoding="utf-8"))
OURS = ("migrate", "web", "worker")
TAKEN_BY_OTHERS = {"POSTGRES_USER", "POSTGRES_PASSWORD", "SITE", "WEB", "PATH", "MALLOC_ARENA_MAX", "PYTHONUNBUFFERED"}


def text_of(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def test_every_variable_that_a_deployment_sets_is_a_setting() -> None:
    settings = set(re.findall(r"^\| `([A-Z_]+)` \|", text_of("docs/architecture.md"), re.M))
    assert len(settings) > 20
    named = {name for service in COMPOSE["services"].values() for name in service.get("environment", {})}
    [block] = re.findall(r"^ENV (.*?[^\\])\n", text_of("Dockerfile"), re.S | re.M)
    named |= set(re.findall(r"([A-Z_]+)=", block))
    named |= set(re.findall(r"^([A-Z_]+)=", text_of("docs/howto/deploy.md"), re.M))
    assert named - settings - TAKEN_BY_OTHERS == set()
    assert {"PRODUCTION", "SECRET_KEY", "ALLOWED_HOSTS", "DATABASE_URL", "TANDEM_DATA_DIR"} <= named


@pytest.mark.parametrize("service", COMPOSE["services"])
def test_a_container_has_no_rights_that_it_does_not_need(service: str) -> None:
    given = COMPOSE["services"][service]
    assert given["read_only"] is True
    assert given["cap_drop"] == ["ALL"]
    assert "no-new-privileges:true" in given["security_opt"]
    assert ("ports" in given) == (service == "proxy")
    assert "healthcheck" in given or service == "web"  # the image's own


def test_only_ours_and_the_database_share_a_network_and_nothing_starts_before_the_migrations() -> None:
    inside = {name for name, service in COMPOSE["services"].items() if "inside" in service["networks"]}
    assert inside == {*OURS, "db"}
    assert COMPOSE["networks"]["inside"]["internal"] is True
    for service in ("web", "worker"):
        assert COMPOSE["services"][service]["depends_on"] == {
            "migrate": {"condition": "service_completed_successfully"}
        }


def test_the_units_of_systemd_share_account_settings_and_limits() -> None:
    """A backup without the server's settings would be one of another database."""
    own = {
        "Type",
        "Environment",
        "Restart",
        "RestartSec",
        "TimeoutStopSec",
        "ExecStart",
        "ExecStartPost",
        "StateDirectory",
    }
    server, backup = (
        {
            line
            for line in text_of(f"deploy/{name}.service").splitlines()
            if "=" in line and line.partition("=")[0] not in own
        }
        for name in ("tandem", "tandem-backup")
    )
    about = {"Description", "After", "Wants", "WantedBy"}
    assert {line for line in server ^ backup if line.partition("=")[0] not in about} == set()
    assert "EnvironmentFile=/etc/tandem.env" in backup


def test_the_image_runs_as_an_account_of_its_own_and_gets_only_what_it_needs() -> None:
    lines = text_of("Dockerfile").splitlines()
    assert [line for line in lines if line.startswith("USER ")] == ["USER 10001"]
    first, *let_through = text_of(".dockerignore").splitlines()
    assert first == "*"
    assert [name for name in let_through if name.startswith("!") and not (ROOT / name[1:]).exists()] == []
    wheel = tomllib.loads(text_of("pyproject.toml"))["tool"]["hatch"]["build"]["targets"]["wheel"]
    needed = [*wheel["packages"], *wheel["force-include"]]
    assert [path for path in needed if f"!{path}" not in let_through] == []
    assert len(needed) > 8


def test_proxies_log_no_addresses_of_pages() -> None:
    """`make lint-deploy` reads what they log: a link's address holds its token."""
    nginx = text_of("deploy/nginx.conf")
    [form] = re.findall(r"^log_format tandem '(.*)';", nginx, re.M)
    assert "$request_id" in form
    assert not {"$request", "$request_uri", "$uri", "$args", "$http_referer"} & set(form.split())
    assert re.search(r"^    access_log \S+ tandem;", nginx, re.M)
    assert re.search(r"^    error_log \S+ crit;", nginx, re.M)
    assert {"uri", "headers"} <= set(re.findall(r"request>(\w+) delete", text_of("deploy/Caddyfile")))


def test_proxies_let_through_what_may_be_uploaded_and_little_more(settings: Any) -> None:
    for name, pattern in (
        ("deploy/Caddyfile", r"max_size (\d+)MB"),
        ("deploy/nginx.conf", r"client_max_body_size (\d+)m;"),
    ):
        [limit] = re.findall(pattern, text_of(name))
        assert 0 < int(limit) - settings.UPLOAD_MAX_BYTES // 2**20 <= 4, name

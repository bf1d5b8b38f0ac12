"""Every address of the project, with real values for what varies in it, and what came of asking for it."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction
from django.http import HttpResponseBase
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver, reverse

from annotation.models import RoleGrant, Upload
from annotation.models.members import Role
from judging.audits.stress import StressTest, start_stress
from judging.models import JudgeTuning
from reporting.api.access import in_study
from reporting.core.raters import departures
from reporting.downloads.jobs import path_of
from reporting.models import MadeFile
from tests.whole_study import Whole

ADMIN = "admin:index"  # one row stands for all of Django's admin, which is guarded in one place


@dataclass(frozen=True)
class Route:
    """One address: its name, as `reverse` takes it, and how it looks."""

    name: str
    address: str
    callback: Any

    @property
    def arguments(self) -> list[str]:
        """Names of what varies in the address."""
        return re.findall(r"<(\w+)>", self.address)

    @property
    def methods(self) -> list[str]:
        """Methods to try; the API says itself which it takes."""
        actions = getattr(self.callback, "actions", None)
        return [method.upper() for method in actions if method != "head"] if actions else ["GET", "POST"]


def routes() -> list[Route]:
    """List every address; Django's admin is one."""
    return list(_walk(get_resolver(), "/", ""))


def _walk(resolver: URLResolver, prefix: str, namespace: str) -> Iterator[Route]:
    for one in resolver.url_patterns:
        address = prefix + _readable(str(one.pattern))
        if isinstance(one, URLPattern):
            yield Route(
                f"{namespace}{one.name}" if one.name else f"an address without a name: {address}", address, one.callback
            )
        elif one.namespace == "admin":
            yield Route(ADMIN, address, None)
        else:
            yield from _walk(one, address, f"{namespace}{one.namespace}:" if one.namespace else namespace)


def _readable(pattern: str) -> str:
    """Show a path's or an expression's variable parts by their names."""
    named = re.sub(r"\(\?P<(\w+)>(?:\[[^]]*\]|\\.|[^)])*\)", r"<\1>", pattern)
    return re.sub(r"<\w+:(\w+)>", r"<\1>", named).replace("\\", "").strip("^$").replace("$", "")


@lru_cache(maxsize=1000)  # as what a request changes is undone
def values_of(route: Route, whole: Whole) -> dict[str, Any]:
    """Return what stands in an address for this study."""
    if (model := _model_of(route)) and route.arguments:
        row: Any = in_study(_site_admin(), model._base_manager.order_by("pk"), whole.study.slug).first()
        field = route.callback.cls.lookup_field
        return {field: getattr(row, field)}
    known = {**_usual(whole), **_special(whole).get(route.name, {})}
    missing = [name for name in route.arguments if name not in known]
    assert not missing, f"say in tests/routes.py what stands for {missing} in {route.address} ({route.name})"
    return {name: known[name] for name in route.arguments}


def _site_admin() -> User:
    return User(is_superuser=True)


def _model_of(route: Route) -> Any:
    """Return the model of an address of the API whose rows belong to a study."""
    queryset = getattr(getattr(route.callback, "cls", None), "queryset", None)
    name = queryset.model.__name__ if queryset is not None else ""
    return (
        queryset.model
        if name and name not in ("Study", "Judge", "Endpoint", "JudgeAudit", "ResearchGroup", "PromptFile")
        else None
    )


@lru_cache(maxsize=2)  # as what a request changes is undone
def _usual(whole: Whole) -> dict[str, Any]:
    return {
        "slug": whole.study.slug,
        "pk": whole.batch.pk,
        "study_key": whole.study.key,
        "username": f"{whole.mark}-{Role.RESEARCHER.value}",
        "assignment_key": whole.open_hit.key,
        "channel_key": whole.channel.key,
        "token": whole.token,
        "run_id": whole.run.pk,
        "prompt_id": whole.prompt.pk,
        "endpoint_name": whole.judge.endpoint.name if whole.judge.endpoint else "",
        "judgment_id": whole.run.judgments.earliest("pk").pk,
    }


@lru_cache(maxsize=2)
def _special(whole: Whole) -> dict[str, dict[str, Any]]:
    """What isn't as usual: an address whose `pk` is no batch's, or whose slug is no study's."""
    group = {"slug": whole.group.slug}
    return {
        **{f"annotation:{name}": group for name in ("group", "rename-group", "revoke-in-group", "link-in-group")},
        **{f"api:group-{name}": group for name in ("detail", "members")},
        "api:group-remove-member": {**group, "member": _grant(whole.group).pk},
        "api:study-remove-member": {"member": _grant(whole.study).pk},
        "annotation:choose-password": {"uidb64": "none", "token": "none"},
        "annotation:join": {"channel_key": whole.anonymous.key},
        "annotation:instance": {"pk": whole.study.instances.earliest("pk").pk},
        "annotation:rater": {"pk": whole.annotator.pk},
        "annotation:feedback": {"assignment_key": whole.first_hit.key},
        "judging:table": {"pk": whole.study.tables.earliest("pk").pk},
        "judging:judgment-table": {"judgment_id": whole.making.judgment_id},
        "annotation:new-channel": {"kind": "accounts"},
        "reporting:correct": {"action": "rename"},
        "annotation:documentation": {"page": "howto/recruit.md"},
        "reporting:chart": {"name": "separability", "form": "svg"},
        "reporting:judge-accuracy-file": {"form": "csv"},
        "reporting:logic-file": {"form": "csv"},
        "reporting:leaderboard-file": {"form": "csv"},
        "reporting:logic-chart": {"name": "transitivity", "form": "svg"},
        **{f"reporting:{name}": {"pk": _stress_test(whole)} for name in ("stress-test", "stress-test-file")},
        "api:study-import": {"key": _upload(whole).key},
        **{
            name: {"kind": "tuning", "pk": _tuning(whole).pk}
            for name in ("annotation:stop-job", "annotation:resume-job")
        },
        **{
            f"api:study-{name}": {"kind": "tuning", "pk": _tuning(whole).pk}
            for name in ("job", "stop-job", "resume-job")
        },
        "api:study-resume-tuning": {"name": _tuning(whole).name},
        "api:prompt-detail": {"pk": whole.prompt.pk},
        **{
            f"api:judgment-{name}": {"pk": whole.run.judgments.earliest("pk").pk}
            for name in ("detail", "replay", "mark")
        },
        "api:judgeaudit-detail": {"pk": _stress_test(whole)},
        "reporting:stress-test-chart": {"pk": _stress_test(whole), "form": "svg"},
        "reporting:table-effect-chart": {"form": "svg"},
        "reporting:separability-chart": {"name": "histograms", "form": "svg"},
        "reporting:export": {"kind": "ratings", "form": "csv"},
        "annotation:upload-page": {"key": _upload(whole).key},
        "annotation:new-study-files": {"key": _upload(whole).key},
        "annotation:upload-look": {"key": _upload(whole).key},
        "annotation:upload-errors": {"key": _upload(whole).key},
        "reporting:made-file": {"key": _made_file(whole).key},
        "api:judge-detail": {"name": whole.judge.name},
        "api:study-exports": {"kind": "ratings"},
        **{f"api:study-{name}": {"key": _made_file(whole).key} for name in ("file", "file-content")},
        **{
            f"api:endpoint-{name}": {"name": whole.judge.endpoint.name if whole.judge.endpoint else ""}
            for name in ("detail", "test")
        },
    }


def _grant(place: Any) -> RoleGrant:
    """Return a role that is held in a study or a group; one of a study is given, as nobody holds one there alone."""
    found: RoleGrant | None = place.role_grants.order_by("pk").first()
    return found or RoleGrant.objects.create(user=User.objects.create_user("helper"), role="researcher", study=place)


def _stress_test(whole: Whole) -> int:
    return start_stress(StressTest(whole.study, whole.judge, ("bold",), pairs=1)).pk


def _upload(whole: Whole) -> Upload:
    return whole.study.uploads.get_or_create(kind="study", names=["f.jsonl"], size=1, status="failed")[0]


def _tuning(whole: Whole) -> JudgeTuning:
    plan = {"presentations": 1, "choosing": [], "shown": [], "held_out": []}
    values = {"study": whole.study, "judge": whole.judge, "plan": plan, "status": "done"}
    return JudgeTuning.objects.get_or_create(name=f"{whole.mark}-tuned", defaults=values)[0]


def _made_file(whole: Whole) -> MadeFile:
    made = MadeFile.objects.create(study=whole.study, kind="bundle", status="done", departed=departures(whole.study))
    path_of(made).parent.mkdir(exist_ok=True)
    path_of(made).write_bytes(b"")
    return made


def sent_to(route: Route, whole: Whole, method: str) -> dict[str, Any]:
    """Return what is sent: without it some would not be found by those who may."""
    return _sent(whole).get((method, route.name), {})


@lru_cache(maxsize=2)
def _sent(whole: Whole) -> dict[tuple[str, str], dict[str, Any]]:
    configuration = {"dataset": whole.batch.dataset, "a": whole.batch.system_a.name, "b": whole.batch.system_b.name}
    display = whole.open_hit.displays.select_related("pair").earliest("pk")
    vote = {"pair_key": display.pair.key, "choice": "left"}
    in_study, in_group = (place.role_grants.order_by("pk").first() for place in (whole.study, whole.group))
    return {
        ("GET", "reporting:chart"): configuration,
        ("GET", "api:study-card"): {"judge": whole.judge.name},
        ("GET", "api:study-compare"): {"first": whole.judge.name},
        ("POST", "annotation:save-vote"): vote,
        ("POST", "annotation:save-second-vote"): vote,
        ("POST", "annotation:flag"): {**vote, "kind": "empty"},
        ("POST", "annotation:reports"): {"unblock": whole.blocked.code},
        ("POST", "annotation:revoke-in-study"): {"grant": in_study.pk if in_study else ""},
        ("POST", "annotation:link-in-study"): {"grant": in_study.pk if in_study else ""},
        ("POST", "annotation:revoke-in-group"): {"grant": in_group.pk if in_group else ""},
        ("POST", "annotation:link-in-group"): {"grant": in_group.pk if in_group else ""},
    }


def session_of(user: User | None) -> str:
    """Sign an account in; returns its session's key."""
    client = Client()
    if user is not None:
        client.force_login(user, backend="annotation.members.signed_in.AccountBackend")
    cookie = client.cookies.get(settings.SESSION_COOKIE_NAME)
    return cookie.value if cookie else ""


def carry(client: Client, session: str) -> None:
    """Let a client be the user of the session, or signed out, with nothing else kept."""
    client.cookies.clear()
    if session:
        client.cookies[settings.SESSION_COOKIE_NAME] = session


def ask(
    client: Client,
    route: Route,
    method: str,
    whole: Whole,
    session: str,
    *,
    values: dict[str, Any] | None = None,
    **more: Any,
) -> HttpResponseBase:
    """Request an address as the user of the session, with nothing else kept; what that changed is undone.

    One client asks for all: each new one would set up the whole program again. `more` goes to its request.

    values : what stands in the address, if not what belongs to `whole`
    """
    client.raise_request_exception = False
    carry(client, session)
    address = reverse(route.name, kwargs=values or values_of(route, whole))
    sent = sent_to(route, whole, method)
    with transaction.atomic():
        if method in ("GET", "POST"):
            answer = getattr(client, method.lower())(address, sent, **more)
        else:
            answer = client.generic(method, address, **more)
        if answer.streaming:
            answer.content_read = b"".join(answer.streaming_content)
        transaction.set_rollback(True)
    return answer


def body_of(answer: Any) -> str:
    """Return what was answered, streamed or not."""
    content: bytes = answer.content_read if answer.streaming else answer.content
    return content.decode("utf-8", "replace")


def outcome(answer: Any) -> str:
    """Say in one word what came of it: `ok` is everything that lies behind the guard, such as a form that is empty."""
    if (
        answer.status_code == 302 and "login/?next=" in answer["Location"]
    ):  # Django's admin has a page of its own for it
        return "login"
    if answer.status_code >= 500:
        return f"{answer.status_code}: {getattr(answer, 'exc_info', [None, ''])[1]}"
    return str(answer.status_code) if answer.status_code in (401, 403, 404, 405) else "ok"

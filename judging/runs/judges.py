"""Adding, checking and finding judges."""

from collections.abc import Mapping
from typing import Any

from django.db import transaction

from annotation.core.keys import new_seed
from annotation.core.names import short_name_problem
from annotation.studies.services import validate
from judging.calls.requests import setting_of
from judging.core.checks import require_same
from judging.core.constants import RESERVED_PARAMS
from judging.core.errors import BadSettings, UnknownJudge
from judging.methods import AskingMethod, Method, find_method, method_names
from judging.methods.options import CELL, FITTED, LONGEST_CELL
from judging.methods.prompted import check_wording
from judging.models import Endpoint, Judge
from judging.wordings.prompt_text import unstorable

MOST_REPEATS = 100
REPEATED_TEMPERATURE = 0.7  # as in the papers: at 0 every repeat would give the same answer


# What a judge of the same name has to have in common, and what only a new one gets.
COMPARED = (
    *(
        "method",
        "endpoint",
        "table_endpoint",
        "order",
        "combine",
        "repeats",
        "negated",
        "task",
        "prompt_file",
        "family",
    ),
    *("system_prompt", "table_variant", "params"),
)
ONLY_NEW = ("texts_first", "tuned", "seed")


@transaction.atomic
def add_judge(
    *, name: str, method: str, params: Mapping[str, Any] | None = None, seed: int | None = None, **settings: Any
) -> tuple[Judge, bool]:
    """Store a judge, unless the same one exists. Return it and whether it is new. Without a seed, one is drawn.

    settings : further fields of a judge; `texts_first` and `tuned` are of a new one, one that is there stays as it is
    Parameters that the endpoint rejects by its last test are left out of a new judge's calls, unless they are given; where it
    keeps to the longest texts of a schema, SC²'s tables have a longest cell.
    Raises: UnknownJudge for an unknown method; BadSettings for settings that don't fit together, or for other settings
    under a used name.
    """
    existing = Judge.objects.select_for_update(of=("self",)).filter(name=name).first()
    if existing is None and (problem := short_name_problem(Judge, "name", name)):
        raise BadSettings(problem)
    judge = Judge(name=name, method=method, params=dict(params or {}), **settings)
    judge.seed = new_seed() if seed is None else seed
    judge.params = with_temperature(find_method(method), fitted_params(judge, existing), judge.repeats)
    check_judge(judge)
    fields = {field: getattr(judge, field) for field in (*COMPARED, *(() if seed is None else ("seed",)))}
    if existing is not None:
        require_same(f"judge {name}", existing, fields)
        return existing, False
    validate(judge)
    new = fields | {field: getattr(judge, field) for field in ONLY_NEW}
    judge, is_new = Judge.objects.get_or_create(name=name, defaults=new)
    if not is_new:  # made meanwhile, as by a second click
        require_same(f"judge {name}", judge, fields)
    return judge, is_new


def store_judge(judge: Judge) -> Judge:
    """Return the stored judge of these settings and this name, new or as it is.

    Raises: as `add_judge`
    """
    return add_judge(name=judge.name, **{field: getattr(judge, field) for field in (*COMPARED, *ONLY_NEW)})[0]


def fitted_params(judge: Judge, existing: Judge | None) -> dict[str, Any]:
    """Return a judge's parameters, fitted to what its endpoints' tests found when it was added.

    Those that are rejected are left out, and the limit on tokens has the endpoint's name for it. The cells of tables have a
    longest text where the endpoint that makes them keeps to it.
    """
    method, params = find_method(judge.method), judge.params
    if existing is None:
        supports = [item.supports for item in (judge.endpoint, judge.table_endpoint) if item is not None]
        rejects = {name for item in supports for name in item.get("rejects", ())}
        length = next(filter(None, (item.get("length", "") for item in supports)), "")
        has_bounds = bool(supports and supports[-1].get("schema_lengths"))
    else:  # a later test doesn't change it
        rejects = {name for name in FITTED if name not in params and existing.params.get(name, "") is None}
        length, has_bounds = "max_completion_tokens", CELL in existing.params
        if length in existing.params and length not in params:
            rejects.add("max_tokens")
    fitted, defaults = dict(params), getattr(method, "default_params", None)
    if defaults is not None:
        fitted |= {name: None for name in FITTED if name in rejects and name not in params}
        if "max_tokens" in rejects and length and length not in params:
            limit = fitted.pop("max_tokens", defaults.get("max_tokens"))
            fitted |= {"max_tokens": None} if "max_tokens" in defaults else {}
            fitted |= {length: limit} if limit is not None else {}
    if has_bounds and not judge.table_variant and CELL in method.options:
        fitted.setdefault(CELL, LONGEST_CELL)
    return fitted


def with_temperature(method: Method, params: Mapping[str, Any], repeats: int) -> dict[str, Any]:
    """Return a judge's parameters, with a temperature above 0 for repeats if the method's default is 0."""
    values = dict(params)
    if repeats > 1 and isinstance(method, AskingMethod) and method.default_params.get("temperature") == 0:
        values.setdefault("temperature", REPEATED_TEMPERATURE)
    return values


def check_fit(*, method: str, endpoint: Endpoint | None, params: Mapping[str, Any], **more: Any) -> None:
    """Refuse settings that don't fit together. `more` are further fields of a judge.

    Raises: UnknownJudge, BadSettings
    """
    check_judge(Judge(method=method, endpoint=endpoint, params=dict(params), **{"seed": 0, **more}))


def check_judge(judge: Judge) -> None:
    """Refuse a judge, stored or not, whose settings don't fit together.

    Raises: UnknownJudge for an unknown method; BadSettings
    """
    method = find_method(judge.method)
    if not 1 <= judge.repeats <= MOST_REPEATS:  # audits set it without the form of a judge
        raise BadSettings(f"repeats must be between 1 and {MOST_REPEATS}, got {judge.repeats}")
    check_tables(judge, method)
    if judge.combine == Judge.Combine.PROBABILITY:
        if judge.order != Judge.OrderPolicy.BOTH:
            raise BadSettings("probabilities are averaged over both orders: choose order both")
        if not gives_probabilities(method, judge.params):
            option = " without logprobs=true" if "logprobs" in method.options else ""
            raise BadSettings(f"method {judge.method} gives no probability of a verdict{option}: choose combine tie")
    if judge.is_jury:
        check_jury(judge)
        return
    if not isinstance(method, AskingMethod):
        check_baseline(judge)
        return
    if judge.endpoint is None:
        raise BadSettings(f"method {judge.method} asks a model: name an endpoint")
    if reserved := RESERVED_PARAMS & set(judge.params):
        raise BadSettings(f"these parameters are set by the engine: {', '.join(sorted(reserved))}")
    of_methods = {option for name in method_names() for option in find_method(name).options}
    of_others = of_methods - set(method.options) - {"logprobs"}  # that is a parameter of endpoints too
    if foreign := of_others & set(judge.params):
        raise BadSettings(
            f"method {judge.method} has no option {', '.join(sorted(foreign))}: as a parameter it would be sent "
            "unchanged"
        )
    method.check(
        judge.task or "free", setting_of(judge)
    )  # every task offers the same; its own is checked with the study
    if problems := unstorable(judge.system_prompt):
        raise BadSettings(f"the system prompt can't be stored: {' '.join(problems)}")
    if judge.prompt_file is not None:
        wording = judge.prompt_file
        if wording.system_prompt and judge.system_prompt:
            raise BadSettings(f"prompt {wording} has a system prompt of its own: give no other")
        check_wording(wording.text, wording.parser, version=str(wording), negated=judge.negated)


def check_tables(judge: Judge, method: Method) -> None:
    """Refuse tables of a method without any, and an endpoint for them at which none are made, or in another currency.

    Raises: BadSettings
    """
    tables = judge.table_endpoint
    if (judge.table_variant or tables) and not method.shows_tables:
        raise BadSettings(f"method {judge.method} shows no comparison table")
    if tables is None:
        return
    if judge.table_variant:
        raise BadSettings(f"the tables of variant {judge.table_variant} exist already: leave out the table endpoint")
    if judge.endpoint is None:
        return
    if tables == judge.endpoint:
        raise BadSettings(f"{tables} is the judge's own endpoint: choose another one for the tables, or none")
    if tables.currency != judge.endpoint.currency:
        raise BadSettings(
            f"{judge.endpoint} has prices in {judge.endpoint.currency}, {tables} in {tables.currency}: "
            "a judge's costs are in one currency"
        )


def check_jury(judge: Judge) -> None:
    """Refuse settings that juries lack, and members that are unknown or juries themselves."""
    if judge.endpoint or judge.prompt_file or judge.task or judge.negated or judge.repeats > 1:
        raise BadSettings(
            "a jury makes no calls, so it takes only members and a rule: leave out endpoint, prompt file, task, "
            "repeats and negated question"
        )
    if judge.order != Judge.OrderPolicy.RANDOM:
        raise BadSettings(f"a jury's verdict is on the pair, in no order: leave out order {judge.order}")
    if foreign := set(judge.params) - set(find_method(judge.method).options):
        raise BadSettings(f"a jury makes no calls: it takes no parameters, got {', '.join(sorted(foreign))}")
    find_method(judge.method).check("free", setting_of(judge))
    methods = dict(Judge.objects.filter(name__in=judge.members).values_list("name", "method"))
    if strangers := [name for name in judge.members if name not in methods]:
        raise UnknownJudge(
            f"jury {judge.name}: there is no judge {', '.join(strangers)}: add it first, or leave it out"
        )
    if juries := [name for name, method in methods.items() if method == Judge.JURY]:
        raise BadSettings(
            f"jury {judge.name}: {', '.join(juries)} is a jury itself, whose votes would count twice; name its "
            "members instead"
        )


def check_baseline(judge: Judge) -> None:
    """Refuse settings that only methods asking a model have."""
    if judge.endpoint is not None:
        raise BadSettings(f"method {judge.method} asks no model: it takes no endpoint")
    if judge.params:
        raise BadSettings(f"method {judge.method} asks no model: it takes no parameters, got {', '.join(judge.params)}")
    if judge.prompt_file is not None or judge.system_prompt:
        raise BadSettings(f"method {judge.method} asks no model: it takes no prompt file and no system prompt")


def gives_probabilities(method: Method, params: Mapping[str, Any]) -> bool:
    """Tell whether a judge asks for the log-probability of its verdict."""
    if "logprobs" in method.options:
        return bool(params.get("logprobs", method.options["logprobs"]))
    return bool(getattr(method, "gives_probability", False))


def find_judge(name: str) -> Judge:
    """Return the judge of this name.

    Raises: UnknownJudge listing those that exist.
    """
    judge = Judge.objects.select_related("endpoint", "table_endpoint", "prompt_file").filter(name=name).first()
    if judge is None:
        names = ", ".join(Judge.objects.values_list("name", flat=True)) or "none yet"
        raise UnknownJudge(f"there is no judge {name}; there are: {names}")
    return judge

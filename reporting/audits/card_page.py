"""A judge's card as tables for a page, and as a page that stands alone."""

import base64
import json
from decimal import Decimal
from typing import Any

from django.template.loader import render_to_string
from django.utils import timezone, translation
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotation.models import Study
from judging.core.pricing import money
from judging.models import Judge
from judging.tuning.candidates import EXAMPLES
from reporting.audits.card import Card
from reporting.audits.charts import turned_verdicts
from reporting.audits.stress_tables import stress_context
from reporting.audits.words import ROW_NAMES
from reporting.core.charts import to_svg
from reporting.report.building import report_style

Table = dict[str, Any]
TITLES = {
    "accuracy": gettext_lazy("Accuracy against gold"),
    "agreement": gettext_lazy("Agreement with people"),
    "consistency": gettext_lazy("Consistency"),
    "length": gettext_lazy("What length adds"),
    "family": gettext_lazy("Its own family"),
    "logic": gettext_lazy("Whether it contradicts itself"),
    "stress": gettext_lazy("Stress test"),
    "cost": gettext_lazy("Cost"),
    "drift": gettext_lazy("Drift"),
}
SETTING_NAMES = {
    "method": gettext_lazy("Method"),
    "model": gettext_lazy("Model"),
    "endpoint": gettext_lazy("Endpoint"),
    "table_endpoint": gettext_lazy("Endpoint of its tables"),
    "table_model": gettext_lazy("Model of its tables"),
    "table_variant": gettext_lazy("Stored tables that it is shown"),
    "family": gettext_lazy("Family"),
    "order": gettext_lazy("Order of the texts"),
    "combine": gettext_lazy("Where both orders are asked"),
    "repeats": gettext_lazy("Repeats"),
    "negated": gettext_lazy("Negated question"),
    "wording": gettext_lazy("Wording"),
    "system_prompt": gettext_lazy("System prompt"),
    "params": gettext_lazy("Parameters"),
    "seed": gettext_lazy("Seed"),
    "prompts": gettext_lazy("Versions of its prompts"),
    "tuned_from": gettext_lazy("Tuned from judge"),
}
CHOICES: dict[str, Any] = {"order": Judge.OrderPolicy, "combine": Judge.Combine}
ASKED_ONLY = (  # by judges that ask a model
    *("model", "endpoint", "table_endpoint", "table_model", "table_variant", "order", "combine", "repeats", "negated"),
    *("wording", "system_prompt", "seed", "prompts", "tuned_from"),
)


def card_sections(card: Card) -> list[dict[str, Any]]:
    """Return the parts of a card in order: a title, and tables or the reason why there is none."""
    return [
        {
            "name": name,
            "title": title,
            "why": card[name].get("why", ""),
            "tables": _tables(card[name]) if name != "cost" else [],
            **({"facts": _costs(card["cost"])} if name == "cost" and "why" not in card["cost"] else {}),
            **({"drift": card["drift"]} if name == "drift" and "since" in card["drift"] else {}),
            **({"stress": stress_context(card["stress"]["found"])} if "found" in card[name] else {}),
        }
        for name, title in TITLES.items()
    ]


def settings_rows(card: Card) -> list[tuple[str, str]]:
    """Return a judge's settings in words; what is not set says so, and what a jury does not have is left out."""
    settings = card["settings"]
    left_out = ASKED_ONLY if settings["method"] == Judge.JURY else ()
    return [(str(name), _shown(key, settings[key])) for key, name in SETTING_NAMES.items() if key not in left_out]


def _shown(name: str, value: Any) -> str:
    if value in (None, [], {}, ""):
        return _("none")
    if isinstance(value, bool):
        return _("yes") if value else _("no")
    if name in CHOICES:
        return str(CHOICES[name](value).label)
    if isinstance(value, dict):
        said = {**value, **({EXAMPLES: len(value[EXAMPLES])} if isinstance(value.get(EXAMPLES), list) else {})}
        return ", ".join(f"{key}={one if isinstance(one, str) else json.dumps(one)}" for key, one in said.items())
    return ", ".join(value) if isinstance(value, list) else str(value)


def _tables(part: dict[str, Any]) -> list[Table]:
    if "configurations" in part:
        return [
            {
                "caption": one["configuration"],
                "people": True,
                "rows": [
                    (ROW_NAMES[name], estimate, one["people"] and one["people"][name])
                    for name, estimate in one["estimates"].items()
                ],
            }
            for one in part["configurations"]
        ]
    rows = [(ROW_NAMES[name], estimate, None) for name, estimate in part.get("estimates", {}).items()]
    return [{"caption": "", "people": False, "rows": rows}] if rows else []


def _costs(cost: dict[str, Any]) -> list[tuple[str, Any]]:
    tokens = (cost["prompt_tokens"], cost["completion_tokens"])
    unknown = _("not known")

    def amount(value: float | None) -> str:
        return unknown if value is None else money(Decimal(str(value)), cost["currency"])

    return [
        (_("Verdicts"), cost["verdicts"]),
        (_("Calls made, and answers from the cache"), f"{cost['calls']}, {cost['cached']}"),
        (_("Tokens sent and written"), unknown if None in tokens else f"{tokens[0]}, {tokens[1]}"),
        (_("Cost of its runs"), amount(cost["cost"])),
        (_("Cost of a verdict"), amount(cost["per_verdict"])),
        (_("Calls of its audits, and their cost"), f"{cost['audit_calls']}, {amount(cost['audit_cost'])}"),
    ]


def card_alone(study: Study, judge: Judge, card: Card) -> str:
    """Return a card as a page that needs nothing else: styles and the picture are inside, and there are no scripts."""
    picture = None
    if "found" in card["stress"]:
        drawn = base64.b64encode(to_svg(turned_verdicts(card["stress"]["found"], "light")).encode()).decode()
        picture = {"light": f"data:image/svg+xml;base64,{drawn}", "dark": "", "alt": _("Verdicts that turn")}
    context = {
        "study": study,
        "judge": judge,
        "card": card,
        "settings": settings_rows(card),
        "sections": card_sections(card),
        "picture": picture,
        "style": report_style(),
        "language": translation.get_language(),
        "made_at": timezone.now(),
    }
    return render_to_string("reporting/audits/card_alone.html", context)

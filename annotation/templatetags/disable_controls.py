"""`{% disable_controls %} … {% enddisable_controls %}`: render a part of a page with its controls disabled."""

from html import escape
from html.parser import HTMLParser

from django import template
from django.utils.safestring import SafeString, mark_safe

CONTROLS = frozenset({"button", "input", "select", "textarea"})
DROPPED = frozenset({"script", "iframe", "object", "embed", "link", "base", "meta"})
FORM_TARGETS = frozenset({"action", "method", "formaction", "formmethod", "form"})


class _ControlDisabler(HTMLParser):
    """Copies HTML without form targets, scripts and links to other pages, and with its controls disabled."""

    def __init__(self, usable: frozenset[str]) -> None:
        super().__init__(convert_charrefs=False)
        self.usable = usable
        self.written: list[str] = []
        self.in_script = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.in_script = tag == "script"
        self._write(tag, attrs, ">")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._write(tag, attrs, "/>")

    def _write(self, tag: str, attrs: list[tuple[str, str | None]], end: str) -> None:
        if tag in DROPPED:
            return
        remaining = [(name, value) for name, value in attrs if self._is_kept(name, value or "")]
        if tag in CONTROLS and dict(attrs).get("id") not in self.usable and "disabled" not in dict(attrs):
            remaining.append(("disabled", None))
        parts = [name if value is None else f'{name}="{escape(value)}"' for name, value in remaining]
        self.written.append(f"<{' '.join([tag, *parts])}{end}")

    def _is_kept(self, name: str, value: str) -> bool:
        if name.startswith(("hx-", "data-hx-", "on")) or name in FORM_TARGETS:
            return False
        return name not in ("href", "src") or value.startswith("#")

    def handle_endtag(self, tag: str) -> None:
        self.in_script = False
        if tag not in DROPPED:
            self.written.append(f"</{tag}>")

    def handle_data(self, data: str) -> None:
        if not self.in_script:
            self.written.append(data)

    def handle_entityref(self, name: str) -> None:
        self.written.append(f"&{name};")

    def handle_charref(self, name: str) -> None:
        self.written.append(f"&#{name};")


def disable_controls(html: str, *, usable: frozenset[str] = frozenset()) -> str:
    """Return HTML that looks the same and can't send anything. Controls with `usable` ids stay enabled.

    Comments and scripts are dropped. For HTML of our own templates, not a sanitizer.
    """
    parser = _ControlDisabler(usable)
    parser.feed(html)
    parser.close()
    return "".join(parser.written)


register = template.Library()
# These change the look of the page only.
USABLE = frozenset({"tool-differences", "tool-size"})


@register.simple_block_tag(name="disable_controls")
def with_disabled_controls(content: str) -> SafeString:
    """Disable the controls of the part between the tags."""
    return mark_safe(disable_controls(content, usable=USABLE))  # noqa: S308  # rendered and escaped before

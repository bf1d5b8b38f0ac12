"""How many instances each bin of separability holds."""

from reporting.core.charts import Findings, Spec, shorten
from reporting.core.themes import THEMES
from reporting.findings.charts.common import COLUMN, bin_labels, column_spec, nothing, reason, title_of


def separability_histogram(found: Findings, theme: str) -> Spec:
    """Bars: how many instances each separability bin holds."""
    separability = found["separability"]
    if not separability or not separability["bins"]:
        return nothing(title_of(found), reason(found), theme)
    labels = bin_labels(separability["bins"])
    rows = [
        {"bin": label, "instances": bin_["instances"]} for label, bin_ in zip(labels, separability["bins"], strict=True)
    ]
    x = {"field": "bin", "type": "ordinal", "sort": None, "title": "Separability", "axis": {"labelAngle": -30}}
    y = {"field": "instances", "type": "quantitative", "title": "Instances", "axis": {"tickMinStep": 1}}
    bars = {"mark": {"type": "bar", "color": THEMES[theme].raters[0]}, "encoding": {"x": x, "y": y}}
    text = {
        "mark": {"type": "text", "baseline": "bottom", "dy": -3, "color": THEMES[theme].ink},
        "encoding": {"x": x, "y": y, "text": {"field": "instances", "type": "quantitative"}},
    }
    spec = {"data": {"values": rows}, "width": COLUMN, "height": 200, "layer": [bars, text]}
    return column_spec(
        spec, [title_of(found), f"Instances by separability ({shorten(separability['similarity'])})"], [], theme
    )

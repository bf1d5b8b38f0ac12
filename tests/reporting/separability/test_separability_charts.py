"""Pictures of separability: what their specifications hold."""

from typing import Any

from reporting.separability.charts import histograms, similarity_histograms

PART: dict[str, Any] = {
    "label": "rouge1",
    "mean": {"value": 0.02},
    "histogram": {"edges": [0.0, 0.05, 0.1], "counts": [2, 1]},
}
ONE: dict[str, Any] = {
    "dataset": "news",
    "system_a": "alpha",
    "system_b": "beta",
    "similarity": "rouge1",
    "similarities": [PART, {**PART, "label": "bleu"}],
}


def test_every_panel_of_bars_has_its_own_scale_below() -> None:
    for spec in (
        histograms({"configurations": [ONE, {**ONE, "dataset": "mail"}]}, "light"),
        similarity_histograms(ONE, "light"),
    ):
        assert spec["resolve"]["axis"] == {"x": "independent"}

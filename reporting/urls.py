"""Addresses of the pages."""

from django.urls import path, re_path

from reporting.views import ablation, accuracy, charts, exports, findings, separability, table_effect, tokens

app_name = "reporting"
urlpatterns = [
    path("studies/<slug:slug>/findings/", findings.show, name="findings"),
    path("studies/<slug:slug>/findings.json", findings.as_json, name="findings-json"),
    path("studies/<slug:slug>/accuracy/", accuracy.show, name="judge-accuracy"),
    re_path(
        r"^studies/(?P<slug>[-\w]+)/accuracy\.(?P<form>json|csv|tex)$", accuracy.download, name="judge-accuracy-file"
    ),
    path("studies/<slug:slug>/table-effect/", table_effect.show, name="table-effect"),
    path("studies/<slug:slug>/table-effect.json", table_effect.as_json, name="table-effect-json"),
    re_path(
        r"^studies/(?P<slug>[-\w]+)/table-effect/scores\.(?P<form>svg|png|json)$",
        table_effect.chart,
        name="table-effect-chart",
    ),
    path("studies/<slug:slug>/ablation/", ablation.show, name="ablation"),
    path("studies/<slug:slug>/ablation/start/", ablation.start, name="start-ablation"),
    re_path(r"^studies/(?P<slug>[-\w]+)/ablation\.(?P<form>json|csv)$", ablation.download, name="ablation-file"),
    re_path(
        r"^studies/(?P<slug>[-\w]+)/ablation/(?P<name>samples|calls)\.(?P<form>svg|png)$",
        ablation.chart,
        name="ablation-chart",
    ),
    path("studies/<slug:slug>/distinguishable/", separability.show, name="separability"),
    path("studies/<slug:slug>/distinguishable.json", separability.as_json, name="separability-json"),
    re_path(
        r"^studies/(?P<slug>[-\w]+)/distinguishable/(?P<name>[a-z-]+)\.(?P<form>svg|png|json)$",
        separability.chart,
        name="separability-chart",
    ),
    re_path(r"^studies/(?P<slug>[-\w]+)/charts/(?P<name>[a-z-]+)\.(?P<form>svg|png)$", charts.chart, name="chart"),
    re_path(
        r"^studies/(?P<slug>[-\w]+)/export/(?P<kind>ratings|judgments|history|flags)\.(?P<form>csv|jsonl)$",
        exports.download,
        name="export",
    ),
    path("api/v1/token/", tokens.token, name="token"),
]

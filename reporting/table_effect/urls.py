"""Addresses of the effect of comparison tables."""

from django.urls import path, re_path

from reporting.table_effect import views

urlpatterns = [
    path("studies/<slug:slug>/table-effect/", views.show, name="table-effect"),
    path("studies/<slug:slug>/table-effect.json", views.as_json, name="table-effect-json"),
    re_path(
        r"^studies/(?P<slug>[-\w]+)/table-effect/scores\.(?P<form>svg|png|pdf|csv|json)$",
        views.chart,
        name="table-effect-chart",
    ),
]

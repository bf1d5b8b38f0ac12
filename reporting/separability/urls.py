"""Addresses of the pages about separability."""

from django.urls import path, re_path

from reporting.separability import views

urlpatterns = [
    path("studies/<slug:slug>/distinguishable/", views.show, name="separability"),
    path("studies/<slug:slug>/distinguishable.json", views.as_json, name="separability-json"),
    re_path(
        r"^studies/(?P<slug>[-\w]+)/distinguishable/(?P<name>[a-z-]+)\.(?P<form>svg|png|pdf|csv|json)$",
        views.chart,
        name="separability-chart",
    ),
]

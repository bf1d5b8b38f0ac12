"""Addresses of the findings and their pictures."""

from django.urls import path, re_path

from reporting.findings import views

urlpatterns = [
    path("studies/<slug:slug>/findings/", views.show, name="findings"),
    path("studies/<slug:slug>/findings.json", views.as_json, name="findings-json"),
    re_path(
        r"^studies/(?P<slug>[-\w]+)/charts/(?P<name>[a-z-]+)\.(?P<form>svg|png|pdf|csv|json)$",
        views.chart,
        name="chart",
    ),
]

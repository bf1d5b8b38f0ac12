"""Addresses of the audit's pages, pictures and files."""

from django.urls import path, re_path

from reporting.logic import views

urlpatterns = [
    path("studies/<slug:slug>/logic/", views.show, name="logic"),
    path("studies/<slug:slug>/logic/estimate/", views.estimate, name="estimate-audit"),
    path("studies/<slug:slug>/logic/start/", views.start, name="start-audit"),
    path("studies/<slug:slug>/logic/contradictions/", views.listed, name="contradictions"),
    path("studies/<slug:slug>/logic-by-instance.csv", views.by_instance, name="logic-by-instance"),
    re_path(r"^studies/(?P<slug>[-\w]+)/logic\.(?P<form>csv|json)$", views.download, name="logic-file"),
    re_path(
        r"^studies/(?P<slug>[-\w]+)/logic/(?P<name>[a-z-]+)\.(?P<form>svg|png|pdf|csv|json)$",
        views.chart,
        name="logic-chart",
    ),
]

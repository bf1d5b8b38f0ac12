"""Addresses of audits' pages, pictures and files."""

from django.urls import path, re_path

from reporting.audits import views

urlpatterns = [
    path("studies/<slug:slug>/audits/", views.show, name="audits"),
    path("studies/<slug:slug>/audits/estimate/", views.estimate, name="estimate-judge-audit"),
    path("studies/<slug:slug>/audits/start/", views.start, name="start-judge-audit"),
    path("studies/<slug:slug>/audits/<int:pk>/", views.stress, name="stress-test"),
    path("studies/<slug:slug>/audits/<int:pk>.json", views.stress_file, name="stress-test-file"),
    re_path(
        r"^studies/(?P<slug>[-\w]+)/audits/(?P<pk>\d+)/turned\.(?P<form>svg|png|pdf|csv|json)$",
        views.chart,
        name="stress-test-chart",
    ),
]

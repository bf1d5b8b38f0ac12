"""Addresses of audits' pages, pictures and files, and of judges' cards."""

from django.urls import path, re_path

from reporting.audits import card_views, views

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
    path("studies/<slug:slug>/judges/<slug:name>/card/", card_views.card, name="judge-card"),
    re_path(
        r"^studies/(?P<slug>[-\w]+)/judges/(?P<name>[-\w]+)/card\.(?P<form>json|html)$",
        card_views.card_file,
        name="judge-card-file",
    ),
]

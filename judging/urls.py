"""Addresses of the pages."""

from django.urls import path

from judging.views import judgments, runs

app_name = "judging"
urlpatterns = [
    path("studies/<slug:slug>/judges/", runs.judges, name="judges"),
    path("studies/<slug:slug>/judges/new/", runs.new_judge, name="new-judge"),
    path("studies/<slug:slug>/judges/runs/", runs.start, name="start"),
    path("studies/<slug:slug>/judges/runs/<int:run_id>/", runs.run, name="run"),
    path("studies/<slug:slug>/judgments/<int:judgment_id>/", judgments.judgment, name="judgment"),
]

"""Addresses of the pages about judges and runs, below one study's."""

from django.urls import path

from judging.runs import views

urlpatterns = [
    path("studies/<slug:slug>/judges/", views.judges, name="judges"),
    path("studies/<slug:slug>/judges/new/", views.new_judge, name="new-judge"),
    path("studies/<slug:slug>/judges/jury/", views.new_jury, name="new-jury"),
    path("studies/<slug:slug>/judges/estimate/", views.estimate, name="estimate"),
    path("studies/<slug:slug>/judges/runs/", views.start, name="start"),
    path("studies/<slug:slug>/judges/runs/<int:run_id>/", views.run, name="run"),
    path("studies/<slug:slug>/judges/runs/<int:run_id>/steer/", views.steer, name="steer"),
    path("studies/<slug:slug>/judges/runs/<int:run_id>/judgments/", views.run_judgments, name="judgments"),
]

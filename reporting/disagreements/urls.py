"""Address of the page of disagreements."""

from django.urls import path

from reporting.disagreements import views

urlpatterns = [
    path("studies/<slug:slug>/reports/disagreements/", views.show, name="disagreements"),
]

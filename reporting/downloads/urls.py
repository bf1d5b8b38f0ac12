"""Addresses of the page of files, and of those that the worker makes."""

from django.urls import path

from reporting.downloads import views

urlpatterns = [
    path("studies/<slug:slug>/files/", views.show, name="downloads"),
    path("studies/<slug:slug>/files/bundle/", views.make_bundle, name="make-bundle"),
    path("studies/<slug:slug>/files/preferences/", views.make_preferences, name="make-preferences"),
    path("studies/<slug:slug>/files/rows/", views.count_rows, name="count-preferences"),
    path("studies/<slug:slug>/files/report/", views.make_report, name="make-report"),
    path("studies/<slug:slug>/files/<str:key>.zip", views.download, name="made-file"),
]

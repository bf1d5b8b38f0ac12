"""Addresses of the studies' pages."""

from django.urls import path

from annotation.study_pages import setup_views, study_views

urlpatterns = [
    path("studies/", study_views.studies, name="studies"),
    path("studies/new/", setup_views.new_study, name="new-study"),
    path("studies/<slug:slug>/", study_views.study_page, name="study"),
    path("studies/<slug:slug>/settings/", setup_views.study_settings, name="study-settings"),
    path("studies/<slug:slug>/copy/", setup_views.copy, name="copy-study"),
    path("studies/<slug:slug>/archive/", setup_views.archive, name="archive"),
    path("studies/<slug:slug>/log/", setup_views.study_log, name="study-log"),
    path("studies/<slug:slug>/upload/", study_views.upload, name="upload"),
    path("studies/<slug:slug>/separability/", study_views.separability, name="separability"),
    path("studies/<slug:slug>/instances/", study_views.instances, name="instances"),
    path("studies/<slug:slug>/instances/<int:pk>/", study_views.instance_page, name="instance"),
]

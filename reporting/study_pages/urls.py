"""Addresses of the studies' pages."""

from django.urls import path

from reporting.planning import views as plan_pages
from reporting.study_pages import help_views, new_study_views, previews, upload_views, views

urlpatterns = [
    path("help/", help_views.contents_page, name="help"),
    path("help/<path:page>", help_views.documentation, name="documentation"),
    path("studies/", views.studies, name="studies"),
    path("studies/new/", new_study_views.new_study, name="new-study"),
    path("studies/new/example/", views.example, name="load-example"),
    path("studies/new/questions/", previews.question_preview, name="question-preview"),
    path("studies/new/pay/", previews.pay_preview, name="pay-preview"),
    path("studies/new/files/<str:key>/", new_study_views.study_of_files, name="new-study-files"),
    path("studies/<slug:slug>/", views.study_page, name="study"),
    path("studies/<slug:slug>/settings/", views.study_settings, name="study-settings"),
    path("studies/<slug:slug>/settings/preview/", previews.settings_preview, name="settings-preview"),
    path("studies/<slug:slug>/copy/", views.copy, name="copy-study"),
    path("studies/<slug:slug>/archive/", views.archive, name="archive"),
    path("studies/<slug:slug>/plan/freeze/", plan_pages.freeze, name="freeze-plan"),
    path("studies/<slug:slug>/plan/withdraw/", plan_pages.withdraw, name="withdraw-plan"),
    path("studies/<slug:slug>/log/", views.study_log, name="study-log"),
    path("studies/<slug:slug>/upload/", upload_views.upload, name="upload"),
    path("studies/<slug:slug>/upload/<str:key>/", upload_views.upload_page, name="upload-page"),
    path("studies/<slug:slug>/upload/<str:key>/look/", upload_views.upload_look, name="upload-look"),
    path("studies/<slug:slug>/upload/<str:key>/errors.csv", upload_views.errors, name="upload-errors"),
    path("studies/<slug:slug>/separability/", views.separability, name="separability"),
    path("studies/<slug:slug>/jobs/<slug:kind>/<int:pk>/stop/", views.stop, name="stop-job"),
    path("studies/<slug:slug>/jobs/<slug:kind>/<int:pk>/resume/", views.resume, name="resume-job"),
    path("studies/<slug:slug>/instances/", views.instances, name="instances"),
    path("studies/<slug:slug>/instances/<int:pk>/", views.instance_page, name="instance"),
]

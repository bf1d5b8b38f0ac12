"""Addresses of the pages. What an annotator's browser meets lies under `rate/` and carries opaque keys only."""

from django.contrib.auth.views import LoginView, LogoutView
from django.urls import path

from annotation.views import accounts, joining, next_hit, rating, reports, second_stage, studies

app_name = "annotation"
urlpatterns = [
    path("", accounts.home, name="home"),
    path("login/", LoginView.as_view(template_name="annotation/login.html"), name="login"),
    path("login/link/", accounts.login_link, name="login-link"),
    path("logout/", LogoutView.as_view(), name="logout"),
    path("rate/", next_hit.rate, name="rate"),
    path("rate/progress/", joining.progress, name="progress"),
    path("rate/consent/<slug:study_key>/", joining.consent, name="consent"),
    path("rate/consent/<slug:study_key>/withdraw/", joining.withdraw, name="withdraw"),
    path("rate/qualification/<slug:study_key>/", joining.qualification, name="qualification"),
    path("rate/hit/<slug:assignment_key>/", rating.hit, name="hit"),
    path("rate/hit/<slug:assignment_key>/vote/", rating.vote, name="save-vote"),
    path("rate/hit/<slug:assignment_key>/lock/", second_stage.lock, name="lock"),
    path("rate/hit/<slug:assignment_key>/second/", second_stage.second_vote, name="save-second-vote"),
    path("rate/hit/<slug:assignment_key>/flag/", reports.flag, name="flag"),
    path("rate/hit/<slug:assignment_key>/return/", reports.return_hit, name="return"),
    path("rate/hit/<slug:assignment_key>/submit/", rating.submit, name="submit"),
    path("rate/hit/<slug:assignment_key>/feedback/", joining.feedback, name="feedback"),
    path("studies/", studies.studies, name="studies"),
    path("studies/new/", studies.new_study, name="new-study"),
    path("studies/<slug:slug>/", studies.study_page, name="study"),
    path("studies/<slug:slug>/settings/", studies.study_settings, name="study-settings"),
    path("studies/<slug:slug>/upload/", studies.upload, name="upload"),
    path("studies/<slug:slug>/separability/", studies.start_separability, name="separability"),
    path("studies/<slug:slug>/batches/new/", studies.new_batch, name="new-batch"),
    path("studies/<slug:slug>/batches/<int:pk>/", studies.batch_page, name="batch"),
    path("studies/<slug:slug>/reports/", reports.reports, name="reports"),
    path("studies/<slug:slug>/instances/", studies.instances, name="instances"),
    path("studies/<slug:slug>/instances/<int:pk>/", studies.instance_page, name="instance"),
]

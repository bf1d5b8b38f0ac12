"""Addresses of the pages. What an annotator's browser meets lies under `rate/` and carries opaque keys only."""

from django.contrib.auth.views import LoginView, LogoutView
from django.urls import path

from annotation.lazy_urls import LazyViews
from annotation.sign_in_form import SignInForm
from annotation.views import (
    accounts,
    arrivals,
    joining,
    messages,
    mturk,
    next_hit,
    prolific,
    rating,
    reports,
    second_stage,
)

batch_page = LazyViews("annotation.views.batch_page")
batches = LazyViews("annotation.views.batches")
channels = LazyViews("annotation.views.channels")
groups = LazyViews("annotation.views.groups")
members = LazyViews("annotation.views.members")
planner = LazyViews("annotation.views.planner")
rater_page = LazyViews("annotation.views.rater_page")
studies = LazyViews("annotation.views.studies")
study_setup = LazyViews("annotation.views.study_setup")

app_name = "annotation"
urlpatterns = [
    path("", accounts.home, name="home"),
    path(
        "login/", LoginView.as_view(template_name="annotation/login.html", authentication_form=SignInForm), name="login"
    ),
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
    path("join/<slug:channel_key>/", arrivals.join, name="join"),
    path("join/<slug:channel_key>/<slug:token>/", arrivals.invitation, name="invitation"),
    path("hooks/prolific/<slug:channel_key>/", prolific.webhook, name="prolific-webhook"),
    path("rate/messages/read/", messages.message_read, name="message-read"),
    path("mturk/<slug:channel_key>/status/<str:token>/", mturk.status, name="mturk-status"),
    path("mturk/<slug:channel_key>/task/<str:token>/", mturk.task, name="mturk-task"),
    path("studies/", studies.studies, name="studies"),
    path("studies/new/", study_setup.new_study, name="new-study"),
    path("studies/<slug:slug>/", studies.study_page, name="study"),
    path("studies/<slug:slug>/settings/", study_setup.study_settings, name="study-settings"),
    path("studies/<slug:slug>/copy/", study_setup.copy, name="copy-study"),
    path("studies/<slug:slug>/archive/", study_setup.archive, name="archive"),
    path("studies/<slug:slug>/log/", study_setup.study_log, name="study-log"),
    path("studies/<slug:slug>/upload/", studies.upload, name="upload"),
    path("studies/<slug:slug>/separability/", studies.separability, name="separability"),
    path("studies/<slug:slug>/batches/new/", batches.new_batch, name="new-batch"),
    path("studies/<slug:slug>/batches/choice/", batches.choice, name="batch-choice"),
    path("studies/<slug:slug>/batches/<int:pk>/preview/", batches.preview_page, name="batch-preview"),
    path("studies/<slug:slug>/batches/<int:pk>/status/", batches.change_status, name="batch-status"),
    path("studies/<slug:slug>/batches/<int:pk>/extend/", batches.extend, name="extend-batch"),
    path("studies/<slug:slug>/batches/<int:pk>/copy/", batches.copy, name="copy-batch"),
    path("studies/<slug:slug>/batches/<int:pk>/", batch_page.batch_page, name="batch"),
    path("studies/<slug:slug>/batches/<int:pk>/live/", batch_page.batch_live, name="batch-live"),
    path("studies/<slug:slug>/batches/<int:pk>/figures/", batch_page.batch_figures, name="batch-figures"),
    path("studies/<slug:slug>/batches/<int:pk>/message/", batch_page.batch_message, name="batch-message"),
    path("studies/<slug:slug>/raters/<int:pk>/", rater_page.rater, name="rater"),
    path("studies/<slug:slug>/payments.csv", rater_page.payments, name="payments"),
    path("studies/<slug:slug>/channels/", channels.channels, name="channels"),
    path("studies/<slug:slug>/channels/new/<slug:kind>/", channels.new_channel, name="new-channel"),
    path("studies/<slug:slug>/channels/<slug:channel_key>/", channels.channel, name="channel"),
    path("studies/<slug:slug>/channels/<slug:channel_key>/links/", channels.new_links, name="new-links"),
    path("studies/<slug:slug>/plan/", planner.planner, name="planner"),
    path("studies/<slug:slug>/reports/", reports.reports, name="reports"),
    path("studies/<slug:slug>/instances/", studies.instances, name="instances"),
    path("studies/<slug:slug>/instances/<int:pk>/", studies.instance_page, name="instance"),
    path("studies/<slug:slug>/members/", members.members, name="members"),
    path("studies/<slug:slug>/members/revoke/", members.revoke_in_study, name="revoke-in-study"),
    path("studies/<slug:slug>/members/link/", members.link_in_study, name="link-in-study"),
    path("studies/<slug:slug>/move/", members.move, name="move-study"),
    path("groups/", groups.groups_page, name="groups"),
    path("groups/<slug:slug>/", groups.group_page, name="group"),
    path("groups/<slug:slug>/rename/", groups.rename, name="rename-group"),
    path("groups/<slug:slug>/revoke/", groups.revoke_in_group, name="revoke-in-group"),
    path("groups/<slug:slug>/link/", groups.link_in_group, name="link-in-group"),
]

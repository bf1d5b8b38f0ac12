"""Addresses of the annotators' pages: all under `rate/`, with opaque keys only."""

from django.urls import path

from annotation.rating import flag_views, hit_views, joining_views, next_hit_views, second_stage_views

urlpatterns = [
    path("rate/", next_hit_views.rate, name="rate"),
    path("rate/progress/", joining_views.progress, name="progress"),
    path("rate/consent/<slug:study_key>/", joining_views.consent, name="consent"),
    path("rate/consent/<slug:study_key>/withdraw/", joining_views.withdraw, name="withdraw"),
    path("rate/qualification/<slug:study_key>/", joining_views.qualification, name="qualification"),
    path("rate/hit/<slug:assignment_key>/", hit_views.hit, name="hit"),
    path("rate/hit/<slug:assignment_key>/vote/", hit_views.vote, name="save-vote"),
    path("rate/hit/<slug:assignment_key>/lock/", second_stage_views.lock, name="lock"),
    path("rate/hit/<slug:assignment_key>/second/", second_stage_views.second_vote, name="save-second-vote"),
    path("rate/hit/<slug:assignment_key>/submit/", hit_views.submit, name="submit"),
    path("rate/hit/<slug:assignment_key>/flag/", flag_views.flag, name="flag"),
    path("rate/hit/<slug:assignment_key>/return/", flag_views.return_hit, name="return"),
    path("rate/hit/<slug:assignment_key>/feedback/", joining_views.feedback, name="feedback"),
    path("rate/messages/read/", joining_views.message_read, name="message-read"),
]

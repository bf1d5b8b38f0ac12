"""Addresses of signing in, of groups and of a study's members."""

from django.contrib.auth.views import LoginView
from django.urls import path

from annotation.members import account_views, member_views
from annotation.members.sign_in_form import SignInForm

urlpatterns = [
    path("", account_views.home, name="home"),
    path(
        "login/",
        LoginView.as_view(template_name="annotation/members/login.html", authentication_form=SignInForm),
        name="login",
    ),
    path("login/link/", account_views.login_link, name="login-link"),
    path("logout/", account_views.logout, name="logout"),
    path("studies/<slug:slug>/members/", member_views.members, name="members"),
    path("studies/<slug:slug>/members/revoke/", member_views.revoke_in_study, name="revoke-in-study"),
    path("studies/<slug:slug>/members/link/", member_views.link_in_study, name="link-in-study"),
    path("studies/<slug:slug>/move/", member_views.move, name="move-study"),
    path("groups/", member_views.groups_page, name="groups"),
    path("groups/<slug:slug>/", member_views.group_page, name="group"),
    path("groups/<slug:slug>/rename/", member_views.rename, name="rename-group"),
    path("groups/<slug:slug>/revoke/", member_views.revoke_in_group, name="revoke-in-group"),
    path("groups/<slug:slug>/link/", member_views.link_in_group, name="link-in-group"),
]

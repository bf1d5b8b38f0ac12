"""Addresses of signing in, of groups and of a study's members."""

from django.urls import path

from annotation.members import account_views, mail_views, member_views, second_factor_views

urlpatterns = [
    path("", account_views.home, name="home"),
    path("large-bodies", account_views.large_bodies, name="large-bodies"),
    path("login/", account_views.SignInView.as_view(), name="login"),
    path("login/code/", second_factor_views.sign_in_code, name="sign-in-code"),
    path("login/link/", account_views.login_link, name="login-link"),
    path("login/new/", mail_views.new_password, name="new-password"),
    path("login/new/<uidb64>/<token>/", mail_views.ChoosePasswordView.as_view(), name="choose-password"),
    path("logout/", account_views.logout, name="logout"),
    path("account/", mail_views.account, name="account"),
    path("account/address/<str:token>/", mail_views.confirmation, name="confirm-address"),
    path("account/second-factor/", second_factor_views.second_factor, name="second-factor"),
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

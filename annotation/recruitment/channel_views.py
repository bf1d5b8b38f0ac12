"""Views of a study's channels.

An adapter's panel is part of the channel's page, with `study`, `channel` and `may_manage` added to its context. Its
forms post to that page, with a button `name="act"` whose value is the action; the adapter's answer is shown as a message.
"""

import csv
from typing import Any

from django import forms
from django.conf import settings
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.template.defaultfilters import pluralize
from django.utils import timezone
from django.views.decorators.cache import never_cache

from annotation.core.errors import AnnotationError, BadFields
from annotation.core.http import as_download, attempt, error_text, status_of
from annotation.mail.outbox import send_again
from annotation.members.permissions import FORM, MANAGERS, READERS, account_of, may_manage, study_view
from annotation.models import Channel, Mail, Study
from annotation.recruitment.accounts import InviteForm, MailInviteForm, ReissueForm
from annotation.recruitment.base import adapter_of, adapters
from annotation.recruitment.channel_counts import invitation_counts, with_counts
from annotation.recruitment.channels import change_channel, kinds, make_channel, options_form_of, set_open
from annotation.recruitment.invitations import invite, open_links, reissue
from annotation.recruitment.options import ChannelForm


@study_view(*READERS)
def channels(request: HttpRequest, study: Study) -> HttpResponse:
    """List a study's channels with their counts."""
    rows = with_counts(study.channels.select_related("batch"))
    context = {"study": study, "channels": rows, "kinds": kinds(), "may_manage": may_manage(request.user, study)}
    return render(request, "annotation/recruitment/channels.html", context)


@study_view(*MANAGERS, methods=FORM)
def new_channel(request: HttpRequest, study: Study, kind: str) -> HttpResponse:
    """Create a channel of one kind, closed at first."""
    label = next((str(option.label) for option in kinds() if option.value == kind), None)
    if label is None:
        raise Http404(f"no channels of kind {kind}")
    form, options = _forms(request, study, kind, {"name": label}, {})
    if form.is_valid() and options.is_valid():
        try:
            channel = make_channel(study=study, kind=kind, options=request.POST, **form.cleaned_data)
        except BadFields as error:
            _add_errors(form, options, error)
        else:
            messages.success(request, "The channel was created. Open it when everything is set.")
            return redirect("annotation:channel", study.slug, channel.key)
    context = {"study": study, "kind": label, "form": form, "options": options, "help_page": adapters()[kind].help_page}
    status = 422 if form.is_bound else 200
    return render(request, "annotation/recruitment/new_channel.html", context, status=status)


@study_view(*READERS, methods=FORM)
def channel(request: HttpRequest, study: Study, channel_key: str) -> HttpResponse:
    """Show a channel. Study admins change its settings, open and close it, and run its adapter's actions."""
    channel = get_object_or_404(study.channels.select_related("study", "batch"), key=channel_key)
    if request.method != "POST":
        return _page(request, channel)
    if not may_manage(request.user, study):
        raise PermissionDenied
    here = redirect("annotation:channel", study.slug, channel.key)
    if "act" in request.POST:
        action, now = request.POST["act"], timezone.now()
        try:
            message = adapter_of(channel).act(
                channel=channel, action=action, data=request.POST, by=account_of(request), at=now
            )
        except AnnotationError as error:
            messages.error(request, error_text(error))
            return _page(request, channel, status=status_of(error))
        messages.success(request, message)
        return here
    if "door" in request.POST:
        set_open(channel=channel, is_open=request.POST["door"] == "open")
        return here
    form, options = _forms(request, study, channel.kind, {}, {})
    if form.is_valid() and options.is_valid():
        try:
            change_channel(channel=channel, options=request.POST, **form.cleaned_data)
        except BadFields as error:
            _add_errors(form, options, error)
        else:
            messages.success(request, "Saved.")
            return here
    return _page(request, channel, status=422, form_and_options=(form, options))


@study_view(*MANAGERS, methods=FORM)
@never_cache
def links(request: HttpRequest, study: Study, channel_key: str) -> HttpResponse:
    """Show the one-time links that are still unused. A POST makes some, for new raters or for one who lost access."""
    channel = get_object_or_404(study.channels.select_related("study"), key=channel_key, kind=Channel.Kind.ACCOUNTS)
    kind = MailInviteForm if settings.MAIL_ON else InviteForm
    form: forms.Form = kind()
    if request.method == "POST" and "again" in request.POST:
        # One that failed, or may not have been sent.
        if send_again(mail=get_object_or_404(_unsent_mails(channel), key=request.POST["again"]), at=timezone.now()):
            messages.success(request, "The mail is sent again.")
        return redirect("annotation:links", study.slug, channel.key)
    if request.method == "POST":
        form = ReissueForm(request.POST) if "rater" in request.POST else kind(request.POST)
        if form.is_valid() and (count := attempt(form, lambda: _make_links(request, channel, form))):
            messages.success(request, count)
            return redirect("annotation:links", study.slug, channel.key)
    links_open = open_links(channel=channel, base_url=request.build_absolute_uri("/"), at=timezone.now())
    if request.GET.get("format") == "csv":
        response = as_download(HttpResponse(content_type="text/csv; charset=utf-8"), "links.csv")
        writer = csv.writer(response)
        writer.writerow(["rater", "link", "valid_until"])
        writer.writerows([row.rater, row.link, row.valid_until.isoformat()] for row in links_open)
        return response
    context = {
        "study": study,
        "channel": channel,
        "form": form,
        "links": links_open,
        "invitations": invitation_counts(channel, timezone.now()),
        "mails": _unsent_mails(channel),
    }
    return render(request, "annotation/recruitment/links.html", context, status=422 if form.is_bound else 200)


def _make_links(request: HttpRequest, channel: Channel, form: forms.Form) -> str:
    """Create the links that a valid form asks for and return the message about them."""
    cleaned = form.cleaned_data
    common: dict[str, Any] = {"channel": channel, "base_url": "", "at": timezone.now()}
    if "rater" in cleaned:
        link = reissue(code=cleaned["rater"].strip(), by=account_of(request), **common)
        return f"The new link of rater {link.rater} is below."
    addresses = cleaned.get("addresses", [])
    count = len(addresses) or cleaned["count"]
    count_made = len(invite(count=count, valid_days=cleaned["days"], addresses=addresses, **common))
    if addresses:
        return f"{count_made} link is being sent." if count_made == 1 else f"{count_made} links are being sent."
    return f"{count_made} link{pluralize(count_made)} created."


def _forms(
    request: HttpRequest, study: Study, kind: str, own: dict[str, Any], options: dict[str, Any]
) -> tuple[ChannelForm, forms.Form]:
    """Return the forms of a channel's common settings and of its kind's, bound if the settings were sent."""
    data = request.POST if request.method == "POST" and not {"act", "door"} & request.POST.keys() else None
    form_of_kind = options_form_of(kind)
    initial = {name: value for name, value in options.items() if value is not None}
    return ChannelForm(data, study=study, initial=own), form_of_kind(data, initial=initial)


def _page(request: HttpRequest, channel: Channel, *, status: int = 200, form_and_options: Any = None) -> HttpResponse:
    own = {"name": channel.name, "batch": channel.batch and channel.batch.name}
    form, options = form_and_options or _forms(request, channel.study, channel.kind, own, channel.options)
    panel = adapter_of(channel).panel(channel)
    if "act" in request.POST:
        for action_form in panel.action_forms.values():
            action_form.initial = {**action_form.initial, **request.POST.dict()}
    context = {
        **panel.context,
        **panel.action_forms,
        "panel": panel.template,
        "needs_settings": any(
            action_form.in_settings and not action_form.is_done for action_form in panel.context.get("checks", ())
        ),
        "help_page": adapter_of(channel).help_page,
        "study": channel.study,
        "channel": with_counts(Channel.objects.filter(pk=channel.pk)).get(),
        "form": form,
        "options": options,
        "may_manage": may_manage(request.user, channel.study),
    }
    return render(request, "annotation/recruitment/channel.html", context, status=status)


def _add_errors(form: forms.Form, options: forms.Form, error: BadFields) -> None:
    """Show each problem at its field."""
    for name, problems in error.fields.items():
        for problem in problems:
            if name in options.fields:
                options.add_error(name, problem)
            else:
                form.add_error(name if name in form.fields else None, problem)


def _unsent_mails(channel: Channel) -> QuerySet[Mail]:
    """Return a channel's mails that are not known to have been sent."""
    unsent = Mail.objects.filter(invitation__channel=channel).exclude(address="")
    return unsent.select_related("invitation__annotator")

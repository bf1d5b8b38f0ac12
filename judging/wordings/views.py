"""The pages of a group's prompts: the list, adding and checking one, and a preview on a pair."""

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.template.response import TemplateResponse

from annotation.core.http import is_htmx
from annotation.members.permissions import FORM, READERS, study_view
from annotation.models import Pair, Study
from annotation.questions.questions import MAIN
from judging.calls.presentations import AB, PAIR_FIELDS, present
from judging.core.errors import BadPrompt
from judging.core.visibility import judges_seen_by, prompt_files_of
from judging.models import Judge, PromptFile
from judging.wordings.checks import fitting_methods, preview
from judging.wordings.forms import PairForm, PromptForm
from judging.wordings.prompt_files import add_prompt, read_folder
from judging.wordings.prompt_text import PromptText

Messages = list[dict[str, str]]


@study_view(*READERS, methods=FORM)
def prompts(request: HttpRequest, study: Study) -> HttpResponse:
    """List the prompts for judges of this study, and check or add one for the study's group."""
    if request.method != "POST":
        return _page(request, study, PromptForm(), PairForm(study=study))
    form, pair = PromptForm(request.POST, request.FILES), PairForm(request.POST, study=study)
    if "check" in request.POST:
        return _checked(request, study, form, pair)
    if form.is_valid():
        named = {name: form.cleaned_data[name] for name in ("name", "parser")}
        try:
            prompt, is_new = add_prompt(prompt=form.given, group=study.group, **named)
        except BadPrompt as error:
            form.add_error("name", error.problems)
        else:
            messages.success(request, f"Prompt {prompt} {'added' if is_new else 'exists already with this text'}.")
            return redirect("judging:prompt", study.slug, prompt.pk)
    return _page(request, study, form, pair, status=422)


def _checked(request: HttpRequest, study: Study, form: PromptForm, pair: PairForm) -> HttpResponse:
    """Show a prompt's problems, or the messages that a judge would send. Nothing is stored."""
    sent = sent_messages(form.given, form.cleaned_data["parser"], pair) if form.is_valid() else []
    status = 200 if form.is_valid() and pair.is_valid() else 422
    if is_htmx(request):
        context = {"form": form, "pair_form": pair, "sent": sent, "checked": True}
        return TemplateResponse(request, "judging/wordings/prompts.html#check", context, status=status)
    return _page(request, study, form, pair, sent=sent, checked=True, status=status)


@study_view(*READERS)
def prompt(request: HttpRequest, study: Study, prompt_id: int) -> HttpResponse:
    """Show one version of a prompt, and the messages that a judge would send about a pair of this study."""
    prompt_file = get_object_or_404(prompt_files_of(study.group).select_related("group"), pk=prompt_id)
    pair = PairForm(request.GET, study=study)
    context = {
        "study": study,
        "prompt": prompt_file,
        "pair_form": pair,
        "sent": sent_messages(PromptText(prompt_file.text, system=prompt_file.system_prompt), prompt_file.parser, pair),
        "versions": PromptFile.objects.filter(name=prompt_file.name).order_by("-version"),
        "judges": judges_seen_by(request.user).filter(prompt_file=prompt_file),
        "methods": fitting_methods(prompt_file.parser),
    }
    part = "#sent" if is_htmx(request) else ""
    return TemplateResponse(
        request, f"judging/wordings/prompt.html{part}", context, status=200 if pair.is_valid() else 422
    )


def sent_messages(prompt: PromptText, parser: str, form: PairForm) -> Messages:
    """Return the messages about the chosen pair, system A first, or an empty string without a pair."""
    if not form.is_valid() or form.pair is None:
        return []
    pair = Pair.objects.values_list(*PAIR_FIELDS).get(pk=form.pair)
    presented = present(Judge(), pair, question=form.study.questions[MAIN], order=AB)
    return preview(prompt.text, parser, presented, system=prompt.system)


def _page(
    request: HttpRequest,
    study: Study,
    form: PromptForm,
    pair: PairForm,
    *,
    sent: Messages | None = None,
    checked: bool = False,
    status: int = 200,
) -> HttpResponse:
    reading = read_folder()
    context = {
        "study": study,
        "prompts": prompt_files_of(study.group).select_related("group").order_by("name", "-version"),
        "folder_problems": reading.problems.items(),
        "form": form,
        "pair_form": pair,
        "sent": sent or [],
        "checked": checked,
    }
    return TemplateResponse(request, "judging/wordings/prompts.html", context, status=status)

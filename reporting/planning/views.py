"""The page of a study's frozen plan."""

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render

from annotation.core.actions import filled
from annotation.core.http import attempt
from annotation.members.permissions import FORM, POST, READERS, account_of, study_view
from annotation.models import Study
from annotation.planning.frozen_plans import frozen_plan, has_votes
from judging.core.visibility import judges_seen_by
from reporting.findings.answer.planned import plan_facts
from reporting.planning.forms import FreezePlan, WithdrawPlan


@study_view(*READERS, methods=FORM)
def freeze(request: HttpRequest, study: Study) -> HttpResponse:
    """Show the frozen plan, or freeze one."""
    data = request.POST if request.method == "POST" else None
    form = FreezePlan(data, study=study, judges=judges_seen_by(request.user))
    plan = attempt(form, lambda: form.run(by=account_of(request))) if form.is_valid() else None
    if plan is not None:
        messages.success(request, "The plan is frozen.")
        return redirect("annotation:freeze-plan", study.slug)
    plan = frozen_plan(study)
    context = {
        "study": study,
        "form": form,
        "plan": plan,
        "stated": {"facts": plan_facts(plan.content)} if plan else None,
        "has_votes": has_votes(study),
        "withdrawal": WithdrawPlan(),
    }
    return render(request, "reporting/planning/freeze_plan.html", context, status=422 if form.errors else 200)


@study_view(*READERS, methods=POST)
def withdraw(request: HttpRequest, study: Study) -> HttpResponse:
    """Withdraw the frozen plan."""
    filled(WithdrawPlan, request.POST.dict()).run(study, by=account_of(request))
    messages.success(request, "The plan is withdrawn.")
    return redirect("annotation:freeze-plan", study.slug)

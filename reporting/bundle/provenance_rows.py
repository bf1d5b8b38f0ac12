"""Origins of judges' answers in a bundle, by the rules of `judging.outcomes.provenance`. No models."""

from collections import Counter, defaultdict

import numpy as np

from judging.methods.sc2.record import MAKING
from judging.outcomes.answer_origins import Origin, Provenance, provenance_by
from reporting.bundle.opening import Bundle


def read_provenance(bundle: Bundle) -> dict[int, Provenance]:
    """Return the provenance of each judge's answers, by the judge's key; older bundles don't say who answered."""
    models = {row["id"]: row["model"] for row in bundle.rows("records/endpoint")}
    judges = {row["id"]: row for row in bundle.rows("records/judge") if row["endpoint"] is not None}
    judge_of = {row["id"]: row["judge"] for row in bundle.rows("records/judgerun")}
    of_judgment = {row["id"]: judge_of[row["run"]] for row in bundle.rows("records/judgment")}
    links = {(of_judgment[row["judgment"]], row["completion"]) for row in bundle.rows("records/judgment_completions")}
    by_completion: dict[int, list[int]] = defaultdict(list)
    for judge, completion in sorted(links):
        by_completion[completion].append(judge)
    counts: dict[int, Counter[Origin]] = defaultdict(Counter)
    answers = []
    for row in bundle.rows("completions"):
        tokens = row["prompt_tokens"], row.get("expected_prompt_tokens")
        named = [row.get(name, "") for name in ("served_model", "fingerprint", "provider")]
        for judge in by_completion[row["id"]]:
            if (asked := judges.get(judge)) is None:
                continue
            endpoint = (asked["table_endpoint"] if row["kind"] in MAKING else None) or asked["endpoint"]
            counts[judge][Origin(models.get(endpoint, ""), *named)] += 1
            answers.append((judge, row["id"], *tokens))
    return provenance_by(counts, np.array(answers, dtype=np.float64).reshape(-1, 4).T)

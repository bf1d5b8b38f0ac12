"""Forms in which data of the field are published, known by their fields, and converted to the kinds of files that are imported."""

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any

from annotation.core.errors import BadFile, BadLine
from annotation.core.files import lines
from annotation.core.files.lines import FileData, Record, listed
from annotation.core.files.mapping import Convert, Json, PublicForm, Unfit, each
from annotation.core.files.record_fields import number_as_text
from annotation.core.refusals import refusal
from annotation.importing.formats.alpacaeval import OUTPUT
from annotation.importing.formats.labelled import KNOWN_BY, LABELLED, PREFERENCES
from annotation.importing.formats.ratings_file import REQUIRED

AUTO = "auto"
FIRST, SECOND, TIE = 1, 2, 0
# AlpacaEval's preference: 1 the first output, 2 the second.
PREFERENCE = {FIRST: 1, SECOND: 2, TIE: 1.5}
NO_LABELS: Mapping[str, int] = {}
LETTERS = {"A>B": FIRST, "B>A": SECOND, "A=B": TIE, "A": FIRST, "B": SECOND}


def two_texts(
    record: Json,
    source: str,
    first: str,
    second: str,
    label: str = "",
    *,
    better: Mapping[str, int] = NO_LABELS,
    id: str = "",  # noqa: A002  # named as the field is
    dataset: str = "",
    systems: tuple[str, str] | None = None,
) -> Iterator[Json]:
    """Yield the instance of a record with a source, two texts and, where there is a label, the better one as gold.

    The arguments name fields of the record.
    better  : values of `label` → FIRST, SECOND or TIE; a label that is not among them is refused
    systems : fields that name the systems; names of the texts' fields where there are none
    """
    texts = [as_text(record[name]) for name in (source, first, second)]
    names = [str(record[name]) for name in systems] if systems else [first, second]
    used = {source, first, second, label, id, dataset, *(systems or ())}
    instance: Json = {"instance_id": record[id]} if id else {}
    if record.get(dataset):
        instance["dataset"] = str(record[dataset])
    instance["source"] = texts[0]
    # In the order of their names: which is better is not to be seen.
    instance["generations"] = dict(sorted(zip(names, texts[1:], strict=True), key=lambda named: named[0]))
    if label:
        value = number_as_text(record[label])
        if not isinstance(value, str) or (side := better.get(value)) is None:
            words = ", ".join(better)
            raise Unfit(refusal("not_one_of", field=label, value=repr(record[label])[:60], words=words))
        instance["gold"] = {"better": "tie" if side == TIE else names[side - 1]}
    instance["metadata"] = {name: value for name, value in record.items() if name not in used}
    yield instance


def made_id(*parts: Any) -> str:
    """Return an id made of texts."""
    return hashlib.sha256("\x00".join(map(str, parts)).encode("utf-8", "surrogatepass")).hexdigest()[:16]


def instances(convert: Callable[[Json], Iterable[Json]]) -> Convert:
    """Convert a record at a time to instances. One without an id is named by its texts, and numbered where these are repeated."""

    def converted(records: Iterable[Record], bad: list[BadLine]) -> Iterator[Record]:
        counts: Counter[str] = Counter()
        for number, record in each(convert)(records, bad):
            if "instance_id" not in record:
                texts = made_id(record["source"], *record["generations"].values())
                counts[texts] += 1
                record["instance_id"] = texts if counts[texts] == 1 else f"{texts}-{counts[texts]}"
            yield number, record

    return converted


def as_text(value: Any) -> Any:
    """Return the text of a number or truth value, which a converter made of one.

    Other values, as lists of messages, stay as they are, for the importer to check.
    """
    return json.dumps(value) if isinstance(value, bool | int | float) else value


def objects(record: Json, name: str) -> list[Json]:
    """Return a list of objects. Raises: Unfit, KeyError."""
    value = record[name]
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        raise Unfit(refusal("not_objects", field=name))
    return value


def chosen_by_models(record: Json) -> Iterator[Json]:
    """Yield a pair of RewardBench's form: texts or lists of one, whose models are named."""
    single = {
        name: value[0]
        if isinstance(value := record[name], list) and len(value) == 1 and isinstance(value[0], str)
        else value
        for name in ("chosen", "rejected", "chosen_model", "rejected_model")
    }
    names = [str(single[name]) for name in ("chosen_model", "rejected_model")]
    if names[0] == names[1]:  # a draw, since the better one is not to be known by its name
        draw = int(made_id(record["prompt"], single["chosen"]), 16) & 1
        names = ["output_2", "output_1"] if draw else ["output_1", "output_2"]
    named = {"chosen_model": names[0], "rejected_model": names[1], "label": FIRST}
    fields: Json = {"better": {"1": FIRST}, "dataset": "subset", "systems": ("chosen_model", "rejected_model")}
    yield from two_texts({**record, **single, **named}, "prompt", "chosen", "rejected", "label", **fields)


def pandalm(record: Json) -> Iterator[Json]:
    """Yield what each annotator of PandaLM's test set preferred. The order in which texts were shown is not published."""
    systems = str(record["cmp_key"]).split("_")
    if len(systems) != 2:
        raise Unfit(refusal("not_kind", field="cmp_key", value=repr(record["cmp_key"])[:60], kind="SYSTEM_SYSTEM"))
    preferences = {str(value): preference for value, preference in PREFERENCE.items()}
    for annotator in (name for name in record if name.startswith("annotator")):
        if (answer := str(number_as_text(record[annotator]))) not in preferences:
            raise Unfit(
                refusal("not_one_of", field=annotator, value=repr(record[annotator])[:60], words="1, 2 or 0, a tie")
            )
        yield {
            **(annotation(record["instruction"], systems, (record["response1"], record["response2"]))),
            "instance_id": str(record["idx"]),
            "input": record.get("input"),
            "dataset": "pandalm",
            "annotator": annotator,
            "rater_kind": "person",
            "preference": preferences[answer],
            "is_switched_outputs": None,
        }


def annotation(source: Any, systems: Iterable[str], texts: Iterable[Any]) -> Json:
    """Return a record of AlpacaEval's annotations, without who preferred what."""
    (system_1, system_2), (text_1, text_2) = systems, texts
    named = {"generator_1": system_1, "generator_2": system_2}
    return {"instruction": as_text(source), "output_1": as_text(text_1), "output_2": as_text(text_2), **named}


def pandalm_judge(record: Json, *, name: str) -> Iterator[Json]:
    """Yield the verdict on PandaLM's test set that a judge gave, shown the first text first."""
    verdicts = {"1": "a", "2": "b", "0": "tie", "tie": "tie"}
    yield {
        "instance": record["idx"],
        "judge": name,
        "order": "ab",
        "rationale": record.get(f"{name}_reason"),
        "verdict": verdicts.get(str(record[f"{name}_result"]).lower(), ""),
    }


def judgebench_verdicts(record: Json) -> Iterator[Json]:
    """Yield the verdicts of a judge on a pair of JudgeBench, the second one with the texts swapped."""
    for number, judgment in enumerate(objects(record, "judgments")[:2]):
        better = LETTERS.get(str(judgment.get("decision")))
        details = judgment.get("judgment")
        model = details.get("judge_model", "") if isinstance(details, dict) else ""
        if number and better in (FIRST, SECOND):
            better = FIRST + SECOND - better
        yield {
            **annotation(
                record["question"], ("response_A", "response_B"), (record["response_A"], record["response_B"])
            ),
            "instance_id": record["pair_id"],
            "dataset": record.get("source"),
            "annotator": f"{record['judge_name']} {model}".strip(),
            "rater_kind": "judge",
            "preference": None if better is None else PREFERENCE[better],
            "is_switched_outputs": bool(number),
        }


def completions(record: Json, *, name: str, text: str, score: str, sign: int = 1) -> Iterator[Json]:
    """Yield the instance of a list of models' texts with scores, of which less is better where `sign` is −1."""
    source = record["instruction"] if "instruction" in record else record["prompt"]
    generations: dict[str, list[Any]] = {}
    scores: dict[str, float] = {}
    for item in objects(record, name):
        generations.setdefault(str(item["model"]), []).append(as_text(item[text]))
        number = lines.parse_number(str(item.get(score, "")))
        if number is not None:
            scores.setdefault(str(item["model"]), sign * number)
    yield {
        **({"instance_id": record["id"]} if record.get("id") else {}),
        **({"dataset": str(record["source"])} if record.get("source") else {}),
        "source": as_text(source),
        "generations": generations,
        **({"gold": {"scores": scores}} if scores.keys() == generations.keys() else {}),
    }


def summeval(record: Json) -> Iterator[Json]:
    """Yield an instance with many systems' summaries, whose scores are means of the dimensions."""
    texts = record["machine_summaries"]
    dimensions = [record[name] for name in ("coherence", "consistency", "fluency", "relevance") if name in record]
    if not isinstance(texts, list) or not all(
        isinstance(values, list) and len(values) == len(texts) for values in dimensions
    ):
        raise Unfit(refusal("not_a", field="machine_summaries", kind="a list as long as those of the scores"))
    names = [f"system-{number:02d}" for number in range(1, len(texts) + 1)]
    means: dict[str, float] = {}
    for name, values in zip(names, zip(*dimensions, strict=True), strict=False):
        if all(isinstance(value, int | float) for value in values):
            means[name] = sum(values) / len(values)
    yield {
        **({"instance_id": record["id"]} if record.get("id") else {}),
        "source": record["text"],
        "generations": dict(zip(names, texts, strict=True)),
        **({"gold": {"scores": means}} if len(means) == len(names) else {}),
    }


def output(record: Json, *, source: str, text: str, dataset: str) -> Iterator[Json]:
    """Yield one system's output, whose fields have these names."""
    yield {
        "instance_id": str(record["id"]),
        "instruction": record[source],
        "output": record[text],
        "generator": record["model_id"],
        "dataset": dataset,
    }


def arena_hard(record: Json) -> Iterator[Json]:
    """Yield a model's answer of Arena-Hard: the last message, after those that are its source."""
    *asked, last = objects(record, "messages") or [{}]
    content = last["content"]
    yield {
        "instance_id": str(record["uid"]),
        "instruction": as_text(asked),
        "generator": record["model"],
        "output": content["answer"] if isinstance(content, dict) else content,
        "dataset": "arena-hard",
    }


def battle_flags(record: Json) -> Iterator[Json]:
    """Yield an Arena battle whose winner is in three columns, and whose turns are lists in JSON."""
    flags = {"model_a": "winner_model_a", "model_b": "winner_model_b", "tie": "winner_tie"}
    prompts, *answers = (_turns(record, name) for name in ("prompt", "response_a", "response_b"))
    conversation_a, conversation_b = (
        [
            {"role": role, "content": text}
            for turn in zip(prompts, texts, strict=False)
            for role, text in zip(("user", "assistant"), turn, strict=True)
        ]
        for texts in answers
    )
    yield {
        "question_id": record["id"],
        "model_a": record["model_a"],
        "model_b": record["model_b"],
        "conversation_a": conversation_a,
        "conversation_b": conversation_b,
        "winner": next((winner for winner, flag in flags.items() if str(record[flag]) in ("1", "1.0", "True")), None),
    }


def _turns(record: Json, name: str) -> list[str]:
    value = record[name]
    if isinstance(value, str) and value.startswith("["):
        try:
            value = json.loads(value)
        except ValueError:
            raise Unfit(refusal("cell_not_json", columns=name, error="a list of turns")) from None
    return ["" if turn is None else turn for turn in value] if isinstance(value, list) else [value]


def mt_bench(records: Iterable[Record], bad: list[BadLine]) -> Iterator[Record]:
    """Yield an instance for each turn of each question, from the questions and the models' answers in any order."""
    questions: dict[Any, tuple[list[Any], Json]] = {}
    answers: dict[Any, tuple[int, dict[str, list[list[Any]]]]] = {}
    for number, record in records:
        question, turns = str(record.get("question_id")), record.get("turns", [record.get("text")])
        if "model_id" not in record:
            questions[question] = (turns, record)
            continue
        choices = record.get("choices", [record])
        if not isinstance(choices, list) or not all(isinstance(choice, dict) for choice in choices):
            bad.append(BadLine(number, refusal("not_objects", field="choices")))
            continue
        texts = [choice.get("turns", [choice.get("text")]) for choice in choices]
        if not all(isinstance(value, list) for value in (turns, *texts)):
            bad.append(BadLine(number, refusal("not_a", field="turns", kind="a list of texts")))
            continue
        answers.setdefault(question, (number, {}))[1].setdefault(str(record["model_id"]), []).extend(texts)
    for question, (number, by_model) in answers.items():
        if question not in questions or not isinstance(questions[question][0], list):
            bad.append(BadLine(number, refusal("no_question", question=question)))
            continue
        turns_asked, record = questions[question]
        for turn in range(1, len(turns_asked) + 1):
            generations = {
                model: [_dialogue(turns_asked, texts, turn) for texts in choices if len(texts) >= turn]
                for model, choices in by_model.items()
            }
            yield (
                number,
                {
                    "instance_id": question if turn == 1 else f"{question}-turn-{turn}",
                    "dataset": "mt-bench",
                    "source": turns_asked[0],
                    "generations": {model: texts for model, texts in generations.items() if texts},
                    "metadata": {"category": record.get("category"), "turn": turn},
                },
            )


def _dialogue(turns_asked: list[Any], texts: list[Any], turn: int) -> Any:
    """Return the answer of the first turn, or the messages that follow the first question."""
    if turn == 1:
        return texts[0]
    messages = [{"role": "assistant", "content": texts[0]}]
    for question, text in zip(turns_asked[1:turn], texts[1:turn], strict=False):
        messages += [{"role": "user", "content": question}, {"role": "assistant", "content": text}]
    return messages


def mt_bench_judgments(record: Json) -> Iterator[Json]:
    """Yield the verdicts of a judge of MT-bench on two models' answers, in both orders."""
    winners, judge, turn = {"model_1": "a", "model_2": "b", "tie": "tie"}, record["judge"], record.get("turn", 1)
    named = str(record["question_id"])
    for game, order in (("g1", "ab"), ("g2", "ba")):
        yield {
            "instance": named if turn == 1 else f"{named}-turn-{turn}",
            "system_a": record["model_1"],
            "system_b": record["model_2"],
            "order": order,
            "judge": " ".join(map(str, judge)) if isinstance(judge, list) else str(judge),
            "verdict": winners.get(str(record[f"{game}_winner"]), ""),
            "rationale": record.get(f"{game}_judgment"),
        }


def argilla(record: Json) -> Iterator[Json]:
    """Yield what each user of Argilla chose of the last two fields of a record: one of them by its name, or a ranking."""
    fields, responses = record["fields"], record["responses"]
    if not isinstance(fields, dict) or len(fields) < 3 or not isinstance(responses, dict):
        raise Unfit(refusal("not_a", field="fields", kind="an object of a source and two texts"))
    *sources, first, second = fields
    source = fields[sources[0]] if len(sources) == 1 else "\n\n".join(str(fields[name]) for name in sources)
    for answer in (answer for name in responses for answer in objects(responses, name)):
        better = _better_of(answer.get("value"), first, second)
        if answer.get("status", "submitted") == "submitted" and better is not None:
            yield {
                **annotation(source, (first, second), (fields[first], fields[second])),
                "instance_id": str(record["id"]),
                "dataset": "argilla",
                "annotator": str(answer.get("user_id")),
                "rater_kind": "person",
                "preference": PREFERENCE[better],
                "is_switched_outputs": None,
            }


def _better_of(value: Any, first: str, second: str) -> int | None:
    """Return which of two texts an answer names, or None where it says something else, as a comment does."""
    if isinstance(value, list):
        ranks = {str(item.get("value")): item.get("rank") for item in value if isinstance(item, dict)}
        first_rank, second_rank = ranks.get(first), ranks.get(second)
        if not isinstance(first_rank, int) or not isinstance(second_rank, int):
            return None
        return TIE if first_rank == second_rank else FIRST if first_rank < second_rank else SECOND
    names = {first.lower(): FIRST, second.lower(): SECOND, "tie": TIE, "equal": TIE, "both": TIE}
    return names.get(value.lower()) if isinstance(value, str) else None


def _form(name: str, title: str, kind: str, fields: str, convert: Convert | None = None) -> PublicForm:
    return PublicForm(name, title, kind, tuple(fields.split(", ")), convert)


def _pair(name: str, title: str, fields: str, better: Mapping[str, int] = NO_LABELS, **more: str) -> PublicForm:
    """Return the form of two texts. Its first fields are the source, the texts and, where one is `better`, the label."""
    source, first, second, *label = fields.split(", ")
    named: Json = {"source": source, "first": first, "second": second, "label": label[0] if better else "", **more}
    return _form(name, title, "study", fields, instances(partial(two_texts, better=better, **named)))


_SIGNS = {"-3": FIRST, "-2": FIRST, "-1": FIRST, "0": TIE, "1": SECOND, "2": SECOND, "3": SECOND}
_ULTRAFEEDBACK = partial(completions, name="completions", text="response", score="overall_score")
_NECTAR = partial(completions, name="answers", text="answer", score="rank", sign=-1)
_SUMMEVAL = partial(output, source="text", text="decoded", dataset="summeval")
_DIALSUMMEVAL = partial(output, source="dialogue", text="summary", dataset="dialsummeval")
_MT_BENCH, _VICUNA = "MT-bench’s questions and answers", "Vicuna’s questions and answers"
_OUTPUTS = "AlpacaEval’s outputs (of the system that the file is named after, if they name none)"
# The first whose fields the first record has; those with most fields of others' come first.
FORMS = (
    _form("study", "Tandem’s study file", "study", "instance_id, source, generations"),
    _form("judgments", "Judgments, a presentation a row", "judgments", "instance, judge, order, verdict"),
    _form("judgments", "Tandem’s judgments", "judgments", "instance_id, system_a, system_b, judge, order, verdict"),
    PublicForm("ratings", "Tandem’s ratings", "ratings", REQUIRED),
    _form("llmbar-verdicts", "Verdicts on LLMBar", "judgments", "subset, llm, strategy, idx, label, winner_noswap"),
    _form("tables", "Tandem’s comparison tables", "tables", "table_id, instance_id, variant, rows"),
    _form("pandalm", "PandaLM’s test set", "alpacaeval", "idx, cmp_key, response1, response2", each(pandalm)),
    _form(
        "pandalm-7b",
        "Verdicts of PandaLM-7B on its test set",
        "judgments",
        "idx, pandalm_result",
        each(partial(pandalm_judge, name="pandalm")),
    ),
    _form(
        "pandalm-gpt",
        "Verdicts of GPT-3.5 on PandaLM’s test set",
        "judgments",
        "idx, gpt_result",
        each(partial(pandalm_judge, name="gpt")),
    ),
    _form(
        "judgebench-verdicts",
        "Verdicts on JudgeBench",
        "alpacaeval",
        "pair_id, response_A, judgments",
        each(judgebench_verdicts),
    ),
    _pair(
        "judgebench",
        "JudgeBench",
        "question, response_A, response_B, label, pair_id",
        LETTERS,
        id="pair_id",
        dataset="source",
    ),
    _form("alpacaeval", "AlpacaEval’s annotations", "alpacaeval", "instruction, output_1, output_2, preference"),
    PublicForm("outputs", _OUTPUTS, "outputs", OUTPUT),
    _pair("two-outputs", "AlpacaFarm’s pairs of outputs", "instruction, output_1, output_2"),
    _form(
        "mt-bench-judgments",
        "MT-bench’s judgments of pairs",
        "judgments",
        "question_id, model_1, model_2, g1_winner, g2_winner",
        each(mt_bench_judgments),
    ),
    _form("mt-bench", _MT_BENCH, "study", "question_id, category, turns", mt_bench),
    _form("mt-bench", _MT_BENCH, "study", "question_id, model_id, choices", mt_bench),
    _form("vicuna-bench", _VICUNA, "study", "question_id, category, text", mt_bench),
    _form("vicuna-bench", _VICUNA, "study", "question_id, model_id, text", mt_bench),
    _form("battles", "Arena’s battles", "battles", "model_a, model_b, winner, conversation_a, conversation_b"),
    _form(
        "arena-flags",
        "Arena’s battles, the winner in three columns",
        "battles",
        "model_a, response_a, response_b, winner_model_a, winner_tie",
        each(battle_flags),
    ),
    _form(
        "rewardbench",
        "RewardBench",
        "study",
        "prompt, chosen, rejected, chosen_model, rejected_model",
        instances(chosen_by_models),
    ),
    PublicForm(PREFERENCES, "Preference pairs (chosen, rejected)", PREFERENCES, KNOWN_BY[PREFERENCES]),
    PublicForm(LABELLED, "LLMBar", LABELLED, KNOWN_BY[LABELLED]),
    _pair(
        "helpsteer3",
        "HelpSteer3’s preferences",
        "context, response1, response2, overall_preference",
        _SIGNS,
        dataset="domain",
    ),
    _pair("helpsteer2", "HelpSteer2’s preferences", "prompt, response_1, response_2, preference_strength", _SIGNS),
    _pair("safe-rlhf", "PKU-SafeRLHF", "prompt, response_0, response_1, better_response_id", {"0": FIRST, "1": SECOND}),
    _pair(
        "shp",
        "Stanford Human Preferences",
        "history, human_ref_A, human_ref_B, labels",
        {"1": FIRST, "0": SECOND},
        dataset="domain",
    ),
    _pair(
        "auto-j",
        "Auto-J’s pairs",
        "prompt, response 1, response 2, label",
        {"0": FIRST, "1": SECOND, "2": TIE},
        dataset="scenario",
    ),
    _pair(
        "preference-collection",
        "Prometheus’ preference collection",
        "orig_instruction, orig_response_A, orig_response_B, orig_preference",
        LETTERS,
    ),
    _form("ultrafeedback", "UltraFeedback", "study", "instruction, completions", instances(_ULTRAFEEDBACK)),
    _form("nectar", "Nectar", "study", "prompt, answers", instances(_NECTAR)),
    _form("summeval", "SummEval, a text a record", "study", "text, machine_summaries", instances(summeval)),
    _form(
        "summeval-outputs", "SummEval, a summary a record", "outputs", "id, decoded, model_id, text", each(_SUMMEVAL)
    ),
    _form("dialsummeval", "DialSummEval", "outputs", "id, dialogue, summary, model_id", each(_DIALSUMMEVAL)),
    _form("arena-hard", "Arena-Hard’s answers", "outputs", "uid, model, messages", each(arena_hard)),
    _form("label-studio", "Label Studio’s pairwise tasks", "label-studio", "data, annotations"),
    _form("argilla", "Argilla’s records", "alpacaeval", "id, fields, responses", each(argilla)),
    _form("sources", "Source texts alone", "sources", "instance_id, source"),
)


def recognise(data: FileData) -> PublicForm | None:
    """Return the form that the fields of a file's first record are of, or None."""
    fields = set(first_fields(data))
    if any(column.endswith("/1") for column in fields):  # of a system, in a wide CSV
        fields.add("generations")
    return next((form for form in FORMS if fields.issuperset(form.fields)), None)


def first_fields(data: FileData) -> list[str]:
    """Return the fields of a file's first record, or the columns of CSV."""
    return list(lines.first_json_record(data)) if lines.is_json(data) else lines.read_csv(data)[0]


def recognised(data: FileData, name: str) -> PublicForm:
    """Return the form of a file. Raises: BadFile naming its fields and the known forms, or why it shows no fields."""
    if (form := recognise(data)) is None:
        if not first_fields(data):
            records, bad = lines.read_content(data)
            next(records, None)
            raise BadFile(name, bad or [BadLine(1, refusal("empty_file"))])
        if any(name.startswith("Input.") for name in first_fields(data)):
            raise BadFile(name, [BadLine(1, refusal("file_of_mturk"))])
        names = ", ".join(dict.fromkeys(form.name for form in FORMS))
        reason = refusal("unknown_form", fields=listed(first_fields(data)), forms=names)
        raise BadFile(name, [BadLine(1, reason)])
    return form

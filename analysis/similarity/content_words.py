"""Words of texts in any script: the content words of a short text as a set, with English words stemmed, and lengths in words."""

import re
import unicodedata
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import islice

import numpy as np

from analysis.similarity.rouge import tokens as english_stems

# Scripts that put no space between words: Han, kana, Bopomofo, Thai, Lao, Myanmar, Khmer.
_UNSPACED = r"\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u312f\u31f0-\u31ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_PICTURES = r"\u2600-\u27bf\U0001f000-\U0001faff"
_TONES = r"\U0001f3fb-\U0001f3ff"  # of an emoji's skin: no sign of their own
# Stop words. English only: in other languages every word counts.
FUNCTION_WORDS = frozenset(
    {
        *("a", "about", "above", "after", "again", "against", "all", "also", "although", "am", "an", "and", "any"),
        *("are", "as", "at", "be", "because", "been", "before", "being", "below", "between", "both", "but", "by"),
        *("can", "could", "did", "do", "does", "doing", "down", "during", "each", "either", "else", "even", "ever"),
        *("few", "for", "from", "further", "had", "has", "have", "having", "he", "her", "here", "hers", "herself"),
        *("him", "himself", "his", "how", "however", "i", "if", "in", "into", "is", "it", "its", "itself", "just"),
        *("may", "me", "might", "more", "most", "much", "must", "my", "myself", "neither", "no", "nor", "not", "of"),
        *("off", "on", "once", "only", "or", "other", "our", "ours", "ourselves", "out", "over", "own", "same"),
        *("shall", "she", "should", "since", "so", "some", "such", "than", "that", "the", "their", "theirs", "them"),
        *("themselves", "then", "there", "these", "they", "this", "those", "though", "through", "to", "too", "under"),
        *("until", "up", "upon", "us", "very", "was", "we", "were", "what", "when", "where", "whether", "which"),
        *("while", "who", "whom", "whose", "why", "will", "with", "within", "without", "would", "yet", "you", "your"),
        *("yours", "yourself", "yourselves", "s", "t", "d", "ll", "m", "re", "ve"),
    }
)
# Whole texts that stand for an empty cell.
BLANK_TEXTS = frozenset(
    {
        *("none", "nothing", "null", "nil", "na", "n a", "empty", "not applicable", "not mentioned"),
        *("keine", "keines", "nichts", "entfällt", "无", "無", "没有", "沒有", "なし", "없음"),
    }
)
MAX_BLANK_WORDS = 3  # words


@lru_cache(maxsize=256)
def words(text: str) -> tuple[str, ...]:
    """Split a text into words, in order: of English words the Porter stem, of scripts without spaces character pairs.

    A single character of such a script, and an emoji, is a word by itself. Punctuation is none.
    """
    content: list[str] = []
    for piece in _pieces().finditer(_folded(text)):
        run = piece.group()
        if piece.lastgroup == "unspaced":
            content += [run] if len(run) == 1 else [run[start : start + 2] for start in range(len(run) - 1)]
        elif run.isascii():
            content += _stems(run)
        else:
            content.append(run)
    return tuple(content)


@lru_cache(maxsize=256)
def content_words(text: str) -> frozenset[str]:
    """Return the distinct words of a text without English function words, or all if there are no others."""
    every = frozenset(words(text))
    return every - _stemmed_function_words() or every


@lru_cache(maxsize=256)
def length_in_words(text: str) -> int:
    """Count words as a reader would: two characters of a script without spaces make about one."""
    return sum(
        -(-len(piece.group()) // 2) if piece.lastgroup == "unspaced" else 1
        for piece in _pieces().finditer(_folded(text))
    )


@dataclass(frozen=True)
class Lengths:
    """Lengths of some texts by `length_in_words`. `None` without texts.

    counts : words of each text, 0 of an empty one
    source : the average lengths of data sets in Predicting Text Preference Via Structured Comparative Reasoning, table 6
    """

    counts: tuple[int, ...] = ()

    @property
    def n(self) -> int:
        """Number of texts."""
        return len(self.counts)

    @property
    def mean(self) -> float | None:
        """Mean length."""
        return float(np.mean(self.counts)) if self.counts else None

    @property
    def median(self) -> float | None:
        """Median length."""
        return float(np.median(self.counts)) if self.counts else None

    @property
    def shortest(self) -> int | None:
        """Length of the shortest text."""
        return min(self.counts, default=None)

    @property
    def longest(self) -> int | None:
        """Length of the longest text."""
        return max(self.counts, default=None)

    def __add__(self, other: "Lengths") -> "Lengths":
        return Lengths(self.counts + other.counts)


def is_blank(text: str) -> bool:
    """Tell whether a text is empty, is punctuation or means an empty cell (“–”, “n/a” or “none”)."""
    # No entry of BLANK_TEXTS is longer.
    beginning = " ".join(piece.group() for piece in islice(_pieces().finditer(_folded(text)), MAX_BLANK_WORDS + 1))
    return not beginning or beginning in BLANK_TEXTS


@lru_cache(maxsize=2**16)
def _stems(run: str) -> tuple[str, ...]:
    return tuple(english_stems(run))


def _folded(text: str) -> str:
    return unicodedata.normalize("NFKC", text).casefold()


@cache
def _stemmed_function_words() -> frozenset[str]:
    return frozenset(stem for word in FUNCTION_WORDS for stem in english_stems(word)) | FUNCTION_WORDS


@cache
def _pieces() -> re.Pattern[str]:
    """Match runs of one kind of writing. Combining marks, of which `\\w` covers few, belong to their letter."""
    marks = "".join(chr(code) for code in range(0x300, 0x1CFF) if unicodedata.category(chr(code)).startswith("M"))
    return re.compile(
        rf"(?P<unspaced>[{_UNSPACED}]+)|(?P<picture>(?![{_TONES}])[{_PICTURES}])"
        rf"|(?P<word>(?:(?![{_UNSPACED}])[^\W_][{marks}]*)+)"
    )

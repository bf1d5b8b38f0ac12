"""Porter stems of lower-case words, as NLTK's stemmer gives them, some ten times as fast."""

from functools import lru_cache

# Exceptions to the algorithm, as in NLTK.
_IRREGULAR = {
    "skies": "sky",
    "sky": "sky",
    "dying": "die",
    "lying": "lie",
    "tying": "tie",
    "news": "news",
    "innings": "inning",
    "inning": "inning",
    "outings": "outing",
    "outing": "outing",
    "cannings": "canning",
    "canning": "canning",
    "howe": "howe",
    "proceed": "proceed",
    "exceed": "exceed",
    "succeed": "succeed",
}
_UNSTEMMED = 2  # words up to this many characters stay as they are
_SHAPES = str.maketrans(
    "abcdefghijklmnopqrstuvwxyz0123456789",
    "".join("v" if letter in "aeiou" else letter if letter == "y" else "c" for letter in "abcdefghijklmnopqrstuvwxyz")
    + "c" * 10,
)
_Rules = dict[str, tuple[tuple[str, str], ...]]

# Suffix and what takes its place, by a letter that decides which rules can apply at all; the first that fits is the
# only one tried, so a longer suffix stands before those that it ends in.
_STEP_2: _Rules = {  # by the last letter but one
    "a": (("ational", "ate"), ("tional", "tion")),
    "c": (("enci", "ence"), ("anci", "ance")),
    "e": (("izer", "ize"),),
    "l": (
        ("bli", "ble"),
        ("alli", "al"),
        ("entli", "ent"),
        ("eli", "e"),
        ("ousli", "ous"),
        ("fulli", "ful"),
    ),
    "o": (("ization", "ize"), ("ation", "ate"), ("ator", "ate")),
    "s": (("alism", "al"), ("iveness", "ive"), ("fulness", "ful"), ("ousness", "ous")),
    "t": (("aliti", "al"), ("iviti", "ive"), ("biliti", "ble")),
    "g": (("logi", "log"),),
}
_STEP_3: _Rules = {  # by the last letter
    "e": (("icate", "ic"), ("ative", ""), ("alize", "al")),
    "i": (("iciti", "ic"),),
    "l": (("ical", "ic"), ("ful", "")),
    "s": (("ness", ""),),
}
_STEP_4: _Rules = {  # by the last letter but one; every suffix goes
    "a": (("al", ""),),
    "c": (("ance", ""), ("ence", "")),
    "e": (("er", ""),),
    "i": (("ic", ""),),
    "l": (("able", ""), ("ible", "")),
    "n": (("ant", ""), ("ement", ""), ("ment", ""), ("ent", "")),
    "o": (("ion", ""), ("ou", "")),
    "s": (("ism", ""),),
    "t": (("ate", ""), ("iti", "")),
    "u": (("ous", ""),),
    "v": (("ive", ""),),
    "z": (("ize", ""),),
}


@lru_cache(maxsize=2**16)
def stem(word: str) -> str:
    """Stem of a word of a-z and 0-9.

    source : Porter 1980, An algorithm for suffix stripping, with the extensions of NLTK's `PorterStemmer`
    """
    if word in _IRREGULAR:
        return _IRREGULAR[word]
    if len(word) <= _UNSTEMMED:
        return word
    if word[-1] == "s":
        word = _without_plural(word)
    word = _without_past_or_ing(word)
    if word[-1] == "y" and len(word) > 2 and _shape(word)[-2] == "c":
        word = word[:-1] + "i"
    return _without_final_e_or_l(_without_suffixes(word))


def _without_plural(word: str) -> str:
    """Step 1a, for a word in s."""
    if word.endswith("ies"):
        return word[:-1] if len(word) == 4 else word[:-2]
    if word.endswith("sses"):
        return word[:-2]
    return word if word.endswith("ss") else word[:-1]


def _without_past_or_ing(word: str) -> str:
    """Step 1b."""
    if word.endswith("ied"):
        return word[:-1] if len(word) == 4 else word[:-2]
    if word.endswith("eed"):
        return word[:-1] if _measure(word[:-3]) else word
    if word.endswith("ed"):
        base = word[:-2]
    elif word.endswith("ing"):
        base = word[:-3]
    else:
        return word
    shape = _shape(base)
    if "v" not in shape:
        return word
    if base.endswith(("at", "bl", "iz")):
        return base + "e"
    if len(base) > 1 and base[-1] == base[-2] and shape[-1] == "c":
        return base if base[-1] in "lsz" else base[:-1]
    return base + "e" if shape.count("vc") == 1 and _ends_short(base, shape) else base


def _without_suffixes(word: str) -> str:
    """Steps 2 to 4."""
    if word.endswith("alli") and _measure(word[:-4]):
        word = word[:-2]  # and then on to -ational and -tional, which are all that can follow
    # A suffix goes after a vowel and a consonant; the l of -logi counts with what stands before it.
    word = _replaced(word, _STEP_2.get(word[-2:-1], ()), 1, counted={"logi": 1})
    word = _replaced(word, _STEP_3.get(word[-1:], ()), 1)
    if word.endswith("ion") and word[-4:-3] not in ("s", "t"):
        return word
    return _replaced(word, _STEP_4.get(word[-2:-1], ()), 2)


def _replaced(
    word: str, rules: tuple[tuple[str, str], ...], shortest: int, counted: dict[str, int] | None = None
) -> str:
    for suffix, replacement in rules:
        if word.endswith(suffix):
            base = word[: -len(suffix)]
            measured = word[: len(base) + counted.get(suffix, 0)] if counted else base
            return base + replacement if _measure(measured) >= shortest else word
    return word


def _without_final_e_or_l(word: str) -> str:
    """Steps 5a and 5b."""
    if word.endswith("e"):
        base = word[:-1]
        shape = _shape(base)
        measure = shape.count("vc")
        if measure > 1 or (measure == 1 and not _ends_short(base, shape)):
            word = base
    return word[:-1] if word.endswith("ll") and _measure(word[:-1]) > 1 else word


def _ends_short(word: str, shape: str) -> bool:
    """Return whether it ends in consonant, vowel and consonant (not w, x or y), or is a vowel and a consonant."""
    return (shape.endswith("cvc") and word[-1] not in "wxy") or shape == "vc"


def _measure(word: str) -> int:
    """Return the number of times that a consonant follows a vowel."""
    return _shape(word).count("vc")


def _shape(word: str) -> str:
    """The word with v for its vowels and c for the rest. After a consonant, y is a vowel."""
    shape = word.translate(_SHAPES)
    if "y" not in shape:
        return shape
    kinds: list[str] = []
    for kind in shape:
        kinds.append(kind if kind != "y" else "v" if kinds and kinds[-1] == "c" else "c")
    return "".join(kinds)

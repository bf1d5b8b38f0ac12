"""Changes of a text: what each promises to keep, on ordinary, odd and hostile texts."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from analysis.bias.perturbations import AUTHORITY, BOLD, INSTRUCTIONS, NAMES, PADDING, PERTURBATIONS, sentence_spans

TEXT = "Dr. Low came first. She stayed 3 days! Why?\nNobody knows."
ARABIC, CHINESE, EMOJI = "وصلت أولا. بقيت ثلاثة أيام؟ نعم.", "她先到。她住了三天！为什么？", "👩‍🔬 🎉. 🎈 ok."
ODD = [
    "",
    " \t\n ",
    "word",
    "👍",
    "\u202e\u200f.",
    "...",
    "<script>alert(1)</script>. ** - [x](y)",
    "\ud800.",
    "a. a. a.",
]
texts = st.one_of(
    st.sampled_from([TEXT, ARABIC, CHINESE, EMOJI, *ODD]),
    st.text(max_size=60),
    st.lists(st.text(alphabet="ab .!?\n。👍", max_size=12), max_size=6).map(" ".join),
)
seeds = st.integers(0, 2**32)
KEEP_IN_FRONT = ["padding", "repetition", "authority", "instruction"]


def changed(name: str, text: str, seed: int = 1) -> str | None:
    return PERTURBATIONS[name](text, np.random.default_rng(seed))


def sentences(text: str) -> list[str]:
    return [text[start:end] for start, end in sentence_spans(text)]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        pytest.param(TEXT, ["Dr. Low came first.", "She stayed 3 days!", "Why?", "Nobody knows."], id="english"),
        pytest.param(ARABIC, ["وصلت أولا.", "بقيت ثلاثة أيام؟", "نعم."], id="arabic"),
        pytest.param(CHINESE, ["她先到。", "她住了三天！", "为什么？"], id="no spaces"),
        pytest.param(EMOJI, ["👩‍🔬 🎉.", "🎈 ok."], id="emoji"),
        pytest.param(
            "It costs 3.50, e.g. today. “Fine.” All", ["It costs 3.50, e.g. today.", "“Fine.”", "All"], id="dots"
        ),
        pytest.param(" \n ", [], id="blank"),
    ],
)
def test_sentences(text: str, found: list[str]) -> None:
    assert sentences(text) == found


def test_each_change_by_hand() -> None:
    assert changed("list", TEXT) == "- Dr. Low came first.\n- She stayed 3 days!\n- Why?\n- Nobody knows."
    assert changed("bold", TEXT) == "**Dr. Low came** first. **She stayed 3** days! **Why?**\n**Nobody knows.**"
    assert changed("truncated", TEXT) == "Dr. Low came first. She"  # 57 characters: before the last space within 28
    assert changed("truncated", "word") == "wo"
    assert changed("empty", TEXT) == ""
    assert changed("model-name", TEXT, 3) in {f"Written by {name}:\n{TEXT}" for name in NAMES}
    assert changed("repetition", "Only this.") == "Only this. Only this."
    assert changed("sentence-order", "One. Two.") == "Two. One."
    padded = changed("padding", TEXT * 4) or ""
    assert 1.5 <= len(padded) / len(TEXT * 4) < 1.5 + 100 / len(TEXT * 4)


@given(st.sampled_from(sorted(PERTURBATIONS)), texts, seeds)
def test_a_seed_fixes_the_change_and_blank_texts_have_none(name: str, text: str, seed: int) -> None:
    found = changed(name, text, seed)
    assert found == changed(name, text, seed)
    assert found is None or isinstance(found, str)
    assert found is None or found != text or name == "bold"
    if not text.strip():
        assert found is None


@given(st.sampled_from(KEEP_IN_FRONT), texts, seeds)
def test_what_is_added_stands_after_the_whole_text(name: str, text: str, seed: int) -> None:
    found = changed(name, text, seed)
    if found is None:
        assert not text.strip()
        return
    assert found.startswith(text)
    added = found[len(text) :].strip()
    known = {"padding": PADDING, "authority": AUTHORITY, "instruction": INSTRUCTIONS, "repetition": sentences(text)}
    for sentence in known[name]:
        added = added.replace(sentence.strip(), "")
    assert not added.strip() or name == "repetition"


@given(texts, seeds)
def test_formatting_adds_marks_only(text: str, seed: int) -> None:
    listed, bold = changed("list", text, seed), changed("bold", text, seed)
    assert (listed is None) == (bold is None) == (not text.strip())
    if listed is not None and bold is not None:
        assert listed == "\n".join(f"- {one}" for one in sentences(text))
        assert bold.replace(BOLD, "") == text.replace(BOLD, "") or "*" in text
        assert Counter(bold) - Counter(text) == Counter({"*": 4 * len(sentences(text))})


@given(texts, seeds)
@example("a. a. a.", 0)
def test_another_order_has_the_same_sentences_and_is_another(text: str, seed: int) -> None:
    found = changed("sentence-order", text, seed)
    if found is None:
        assert len(set(sentences(text))) < 2
    else:
        assert Counter(found) == Counter(text)
        assert found != text


@given(texts, seeds)
def test_a_truncated_text_is_the_start_of_the_text(text: str, seed: int) -> None:
    found = changed("truncated", text, seed)
    if found is not None:
        assert text.startswith(found)
        assert found.strip()
        assert len(found) <= (len(text) + 1) // 2


@given(texts)
def test_sentences_are_all_of_a_text_but_spaces(text: str) -> None:
    spans, last = sentence_spans(text), 0
    for start, end in spans:
        assert not text[last:start].strip()
        assert text[start:end] == text[start:end].strip() != ""
        last = end
    assert not text[last:].strip()

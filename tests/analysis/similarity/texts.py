"""Texts that similarities are tried on, beside the libraries that define them."""

from hypothesis import strategies as st

ADVERSARIAL = [
    "",
    "   \n\t ",
    "one",
    "ONE",
    "!",
    "😀 🎉😀",
    "👩‍👩‍👧 fa\u0301mily",  # signs that are joined from several
    "两个完全相同的中文句子",
    "两个完全不同的中文句子,3.5元。",
    "naïve café coöperation",
    "İstanbul KELVIN ﬁne",  # characters whose lower case is longer, Latin or a ligature
    "well-known state_of_the_art it's don't",
    "generously generating generations; generate generated generator",
    "his bus was his",  # three letters are never stemmed, so these are other words than those of the next line
    "hi bu wa hi",
    "dying flying sky skies news cosmos proceed",  # irregular stems and exceptions
    "2 22 2222 3.14 a1b2 x² 1,000,000. 5-3 -7 3- .5 5. a.b,c",
    "&quot;A&amp;B&quot; &lt;b&gt; &amp;lt; &amp;quot; & &nbsp; <skipped>",
    "a-\nb over\nlines-\n",
    "wide\u00a0blank\u2028line\x0bpage\x0cfile\x1cnext\x85end\r\n",
    "~!@#$%^*()_+`={}|[]\\:\";'<>?,./",
    "...,,,---",
    "y" * 300,
    "yyyying syzygy enjoyed",
    "the the the the cat",
    "<script>alert('x')</script> \x00 \u202e reversed",
    "the quick brown fox jumps over the lazy dog " * 80,
]
_words = st.lists(
    st.sampled_from(["the", "cats", "cat", "running", "ran", "é", "中", "Go-Go", "12", "1.2", "-", ".", "&amp;", "\n"]),
    max_size=12,
)
lists_of_texts = st.lists(_words.map(" ".join) | _words.map("".join) | st.text(max_size=30), max_size=4)

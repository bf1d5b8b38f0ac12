"""The parts of a response: thoughts, the answer, and text beyond the end of the turn.

Models mark thoughts, channels and turns in many ways. An endpoint without the model's own parser leaves these marks in
the text. A mark in quotation marks or backticks is quoted, and part of the answer.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

QUOTES = "\"'`“”„‟‘’‚«»‹›「」『』＂＇"
_THOUGHTS = (
    r"think(?:ing)?|thoughts?|(?:think(?:ing)?|thought|reasoning)[_-]process|reason(?:ing)?|step[_-]by[_-]step|reflect(?:ion|ions)?|self[_-]reflection"
    r"|analysis|scratch_?pad|inner[_-](?:monologue|thoughts?)|internal(?:[_-](?:monologue|thoughts?|reasoning))?|monologue"
    r"|chain[_-]of[_-]thought|cot|deliberat(?:e|ion)|plan(?:ning)?|drafts?|brainstorm(?:ing)?|antthinking|cot_budget_reflect"
)
# The patterns that are strings are compiled by `re` when the first answer is read.
# One pass over the text finds every mark. Each repetition is bounded, so that it takes linear time.
_MARK = (
    r"(?i)<[|｜]\s?(?P<special>/?[A-Za-z0-9_▁:.\- ]{1,40}?)\s?[|｜]>"
    rf"|<\s?(?P<closing>/?)\s?(?:[a-z]{{1,15}}[:_-])?(?P<tag>{_THOUGHTS})(?:\s[^<>\n]{{0,200}}?)?(?P<empty>/?)>"
    r"|\[(?P<bracket_closing>/?)(?P<bracket>think(?:ing)?|thoughts?|reasoning|reflection|analysis)\]"
    r"|◁(?P<kimi_closing>/?)(?P<kimi>think(?:ing)?)▷"
    r"|<\|(?P<opened>channel|turn|tool_call|tool_response)>|<(?P<closed>channel|turn|tool_call|tool_response)\|>"
    r"|<unused(?P<unused>\d{1,3})>"
    r"|(?P<bos><s>|<bos>|<sop>|\[gMASK\]|<\|startoftext>|<\|?begin_of_text>)"
    r"|(?P<turn><start_of_turn>|\[INST\])|(?P<prompt_end>\[/INST\])"
    r"|(?P<end></s>|<end_of_(?:turn|text|utterance|message|response|solution)>|<endoftext>|<(?:[a-z]{1,10}:)?(?:eos|eot|eod|eop|eoa|eoh|pad|stop)>"
    r"|\[(?:EOS|EOT|EOD|END|PAD|SEP|BOS)\]|\[\|\w{1,20}\|\]|<(?:extra_id|special|reserved)_\d{1,4}>)"
)
# Headings of thoughts in plain words count where the text starts with them: of Ollama, Granite and HuatuoGPT.
_HEADINGS = (
    (re.compile(r"\A\s*+thinking\.\.\.[ \t]*$", re.I | re.M), re.compile(r"^[ \t]*\.\.\.\s?done thinking\.?[ \t]*$", re.I | re.M)),
    (re.compile(r"\A\s*+here(?:['’]s| is) my thought process:", re.I), re.compile(r"^\W{0,9}here(?:['’]s| is) my response:", re.I | re.M)),
    (
        re.compile(r"\A\s*+#{1,4} thinking(?: process)?[:*. \t]*$", re.I | re.M),
        re.compile(r"^#{1,4} (?:final )?(?:response|answer|output)\b[^\n]*$", re.I | re.M),
    ),
)  # fmt: skip
_BLOCK = rf"(?ims)^[ \t]*+```[ \t]*+(?:{_THOUGHTS})[ \t]*+$(?:.*?(?P<end>^[ \t]*+```[ \t]*+$)|.*)"
# The channels of harmony without their special tokens: `analysisWe need…assistantfinalPreferred: A`.
_BARE_START = re.compile(
    r"\A\W{0,20}(?:assistant)?(?:analysis|commentary)(?=[A-Za-z\d\"“'(]|[^\x00-\x7f]|\s{1,9}[A-Z\d\"“'(])"
)
_BARE_CHANNEL = re.compile(r"assistant\s{0,2}(?P<name>final|analysis|commentary)\s{0,2}")
_GLUED_FINAL = re.compile(r"(?:^|(?<=[^\s\"“'`]))assistantfinal", re.MULTILINE)
_STRUCK = re.compile(r"<s>[^<\n]{1,500}</s>", re.IGNORECASE)
_ROLE = re.compile(r"[ \t]{0,2}(?P<role>[A-Za-z_]{1,20})?")
_CHANNEL = re.compile(
    r"\s{0,3}(?P<name>[A-Za-z_]{1,20})?(?:[^<\n]{0,100}(?:<\|constrain\|>[^<\n]{0,40})?<\|message\|>)?"
)
_CHANNEL_BEFORE = re.compile(r"\b(?P<name>analysis|commentary|thought|final)\s{0,3}\Z")
_HEADER_END = frozenset({"end_header_id", "header_end", "end_of_role", "content", "sep", "role_sep", "im_middle"})
_ROLE_STARTS = frozenset({"im_start", "start", "begin", "start_header_id", "header_start", "start_of_role", "start_of_turn", "im_system", "im_user", "im_assistant", "turn"})  # fmt: skip
_ANSWERING = frozenset({"", "assistant", "model", "bot", "gpt", "ai", "answer", "chatbot", "response"})
_ASKING = frozenset(
    {"user", "system", "human", "tool", "developer", "observation", "prompter", "ipython", "environment"}
)
_STARTS = frozenset(
    {"startoftext", "begin_of_text", "bos", "begin▁of▁sentence", "begin_of_sentence", "start_of_text", "s"}
)
_BOXES = re.compile(r"(?:begin|start|end)_of_box")
_WRAPPER = re.compile(
    r"(?P<end>end_|/)?(?:(?:begin|start)_)?(?:of_)?(?:solution|response|answer|final_answer|output|text)"
)
_THOUGHT_NAME = rf"(?P<end>/|end_|end_of_)?(?:(?:begin|start|bos)_)?(?:of_)?(?P<kind>{_THOUGHTS}|inner_(?P<affix>prefix|suffix))(?:_(?P<late>end|start))?"
_BEYOND = "\nAssistant:\n"  # between two final messages: the second one may answer something else


@dataclass(frozen=True)
class ResponseParts:
    """The answer of a response, and how the response ends.

    is_closed   : the model ended its turn in the text
    is_thinking : the response ends within thoughts, or can't be distinguished from them
    """

    answer: str
    is_closed: bool = False
    is_thinking: bool = False


def split_response(text: str, *, leading_only: bool = False) -> ResponseParts:
    """Split a response into its parts, without thoughts and later turns.

    leading_only : later thoughts are part of the answer, as in a text that a system wrote
    """
    for opening, closing in () if leading_only else _HEADINGS:
        if opening.search(text):
            ends = [mark.end() for mark in closing.finditer(text)]
            return _Splitter(text[ends[-1] :]).split() if ends else ResponseParts("", is_thinking=True)
    if not leading_only:
        if any(not block["end"] for block in re.finditer(_BLOCK, text)):
            return ResponseParts("", is_thinking=True)
        text = re.sub(_BLOCK, "", text)
    if bare := _bare_channels(text):
        return bare
    return _Splitter(text, leading_only=leading_only).split()


def _bare_channels(text: str) -> ResponseParts | None:
    """Return the parts of a response in harmony's channels without their special tokens, or `None` for any other."""
    opened = _BARE_START.match(text)
    if opened is None and _GLUED_FINAL.search(text) is None:
        return None
    if "<|message|>" in text:
        return None
    starts = list(_BARE_CHANNEL.finditer(text))
    ends = [*[start.start() for start in starts][1:], len(text)]
    finals = [text[start.end() : end] for start, end in zip(starts, ends, strict=False) if start["name"] == "final"]
    if not finals or starts[-1]["name"] != "final":
        return ResponseParts("", is_thinking=True)
    return _Splitter(_BEYOND.join(finals)).split()


@dataclass
class _Splitter:
    """The state of one pass over the marks of a response.

    kind, depth : of the thoughts that are open; an empty kind: none are
    has_channels: only messages of harmony's final channel are the answer
    """

    text: str
    leading_only: bool = False
    visible: list[str] = field(default_factory=list)
    kind: str = ""
    depth: int = 0
    opened_at: int = 0
    has_inner: bool = False
    position: int = 0
    has_channels: bool = False
    has_thoughts: bool = False
    has_final: bool = False
    is_closed: bool = False
    is_doubtful: bool = False
    has_text: bool = False
    struck_to: int = -1

    def split(self) -> ResponseParts:
        """Return the parts."""
        marks = list(self._marks())
        closers = {_kind(mark["bracket"]) for mark in marks if mark["bracket_closing"]}
        self.has_channels = any(mark["special"] == "channel" for mark in marks)
        for mark in marks:
            if mark.start() < self.position:
                continue
            bracket = mark["bracket"] or ""
            if bracket.lower() != bracket != bracket.upper() and _kind(bracket) not in closers:
                continue  # a heading
            self._take(mark)
            if self.is_closed:
                break
        if self.kind == "ended":
            self.kind, self.is_closed = "", True
        if not self.is_closed:
            self._show(len(self.text))
        is_thinking = self.is_doubtful or bool(self.kind) or (self.has_channels and not self.has_final)
        return ResponseParts("" if is_thinking else "".join(self.visible), self.is_closed, is_thinking)

    def _marks(self) -> Iterator[re.Match[str]]:
        for mark in re.finditer(_MARK, self.text):
            before, after = self.text[mark.start() - 1 : mark.start()], self.text[mark.end() : mark.end() + 1]
            if not (before and after and before in QUOTES and after in QUOTES):
                yield mark

    def _show(self, end: int) -> None:
        """Add the text up to a mark to the answer."""
        if not self.kind:
            self.visible.append(self.text[self.position : end])
            self.has_text = self.has_text or bool(self.visible[-1].strip())

    def _clear(self) -> None:
        """Drop the answer so far."""
        self.visible.clear()
        self.has_text = False

    def _take(self, mark: re.Match[str]) -> None:
        if mark["tag"] and mark["empty"]:
            self._skip(mark)
        elif mark["tag"] or mark["bracket"] or mark["kimi"]:
            name = "tag" if mark["tag"] else "bracket" if mark["bracket"] else "kimi"
            is_closing = mark["closing"] or mark["bracket_closing"] or mark["kimi_closing"]
            self._thought(mark, f"{name} {_kind(mark[name])}", is_closing=bool(is_closing))
        elif mark["unused"] in ("94", "95"):  # MedGemma's marks of thoughts: `<unused94>thought … <unused95>`
            self._thought(mark, "unused", is_closing=mark["unused"] == "95")
        elif "channel" in ((mark["opened"] or "").lower(), (mark["closed"] or "").lower()):
            # Gemma's: `<|channel>thought … <channel|>`, `<|turn>model … <turn|>`
            self._thought(mark, "<|channel>", is_closing=bool(mark["closed"]))
        elif mark["special"]:
            self._special(mark)
        elif self.kind and (self.kind not in ("prompt", "role") or mark["unused"] or mark["opened"] or mark["closed"]):
            return
        elif mark["bos"]:
            self._start(mark)
        elif mark["turn"] or (mark["opened"] or "").lower() == "turn":
            self._turn(mark, (mark["turn"] or "").upper() == "[INST]")
        elif mark["prompt_end"]:
            self._role(mark, "assistant")
        else:
            self._end(mark)

    def _skip(self, mark: re.Match[str], instead: str = "") -> None:
        """Leave a mark out of the answer."""
        if not self.kind:
            self._show(mark.start())
            self.visible.append(instead)
            self.position = mark.end()

    def _thought(self, mark: re.Match[str], kind: str, *, is_closing: bool) -> None:
        if self.kind:
            if kind == self.kind and is_closing:
                self.depth -= 1
                if not self.depth:
                    self.kind, self.position = "", mark.end()
            elif kind == self.kind:
                # A template that opens the thoughts may have the model open them again.
                self.has_inner = self.has_inner or bool(self.text[self.opened_at : mark.start()].strip())
                self.depth += self.has_inner
                self.opened_at = mark.end()
        elif self.has_channels:
            return
        elif is_closing:
            if not (self.leading_only and self.has_thoughts):
                self._close_unopened(mark)
        else:
            self._show(mark.start())
            self.position = mark.start()
            self.has_thoughts = True
            if not (self.leading_only and self.has_text):
                self.kind, self.depth = kind, 1
                self.opened_at, self.has_inner = mark.end(), False

    def _close_unopened(self, mark: re.Match[str]) -> None:
        """End thoughts that the model's chat template opened: all text before the mark is thoughts."""
        at, text = mark.start(), self.text
        has_more = text[mark.end() : mark.end() + 200].partition("\n")[0].strip()
        if text[at - 1 : at] in (" ", "\t") and has_more:
            self.is_doubtful = bool(text[text.rfind("\n", max(0, at - 1000), at) + 1 : at].strip())
        else:
            self.is_doubtful = False
        self._clear()
        self.position, self.has_thoughts = mark.end(), True

    def _special(self, mark: re.Match[str]) -> None:
        """Take a special token in pipes: `<|im_end|>`."""
        name = re.sub(r"[ .\-]", "_", mark["special"].strip().lower())
        of_channels = ("channel", "message", "constrain", "return", "call", "end")
        if name in of_channels or (self.has_channels and name == "start"):
            self._channel(mark, name)
            return
        plain = name.replace("▁", "_")
        if thought := re.fullmatch(_THOUGHT_NAME, plain):
            kind = "inner" if thought["affix"] else _kind(thought["kind"])
            is_closing = bool(thought["end"]) or thought["affix"] == "suffix" or thought["late"] == "end"
            self._thought(mark, f"|{kind}", is_closing=is_closing)
        elif self.kind and self.kind not in ("role", "prompt"):
            return
        elif _BOXES.fullmatch(plain):
            self._skip(mark)
        elif plain in _HEADER_END:
            self._skip(mark, "\n")
        elif name in _STARTS:
            self._start(mark)
        elif plain in _ROLE_STARTS:
            self._turn(mark, plain in ("im_system", "im_user"))
        elif plain in _ANSWERING or plain in _ASKING:
            self._role(mark, plain)
        elif (wrapper := _WRAPPER.fullmatch(plain)) and not wrapper["end"]:
            self._skip(mark, "\n")
        else:
            self._end(mark)

    def _channel(self, mark: re.Match[str], name: str) -> None:
        """Take a special token of harmony, whose messages are in channels."""
        if name in ("return", "call", "end") and not self.has_channels:
            if self.kind.startswith("|"):
                self._thought(mark, self.kind, is_closing=True)
            elif not self.kind:
                self._end(mark)
            return
        if name in ("return", "call", "end"):
            is_final = self.has_final and not self.kind
            self._show(mark.start())
            self.kind, self.position = "between", mark.end()
            if name != "end" and is_final:
                self.kind, self.is_closed = "", True
            elif is_final:
                self.kind = "ended"
            return
        if name == "start":
            if self.kind in ("", "ended") and self.has_final and _role_at(self.text, mark.end())[0] in _ASKING:
                self.kind, self.is_closed = "", True
            return
        if self.kind and not self.has_channels:
            return
        if name == "channel":
            self._show(mark.start())
            header = _CHANNEL.match(self.text, mark.end())
            name = str(header["name"] or "").lower() if header else ""
            self._open_channel(header.end() if header else mark.end(), name)
        elif name == "message" and not self.has_channels:
            named = _CHANNEL_BEFORE.search(self.text[max(0, mark.start() - 40) : mark.start()])
            self._open_channel(mark.end(), named["name"] if named else "final")

    def _open_channel(self, position: int, name: str) -> None:
        """Begin a message. The text before the first one isn't part of the answer."""
        self.position = position
        if not self.has_final:
            self._clear()
        self.has_channels = True
        if name == "final":
            if self.has_final:
                self.visible.append(_BEYOND)
            self.kind, self.has_final = "", True
        else:
            self.kind, self.depth = f"channel {name}", 1

    def _start(self, mark: re.Match[str]) -> None:
        """Omit a token at the start of a text. Elsewhere it starts another text or strikes words out."""
        self._show(mark.start())
        self.position = mark.start()
        if self.has_text and (struck := _STRUCK.match(self.text, mark.start())):
            self.struck_to = struck.end()
            return
        self.position, self.is_closed = mark.end(), self.has_text

    def _turn(self, mark: re.Match[str], is_asking: bool) -> None:
        """Take the start of a turn, whose role follows."""
        role, end = _role_at(self.text, mark.end())
        if not (role in _ASKING or role in _ANSWERING or re.fullmatch(_THOUGHTS, role)):
            role, end = "", mark.end()
        self._role(mark, "user" if is_asking else role, end=end)

    def _role(self, mark: re.Match[str], role: str, *, end: int | None = None) -> None:
        self._show(mark.start())
        self.position = mark.end() if end is None else end
        if self.has_text:
            self.kind, self.is_closed = "", True
        elif role in _ASKING:
            self.kind, self.depth = "prompt", 1  # an endpoint that repeats the question
        elif role and role not in _ANSWERING:
            self.kind, self.depth, self.has_thoughts = "role", 1, True
        else:
            self.kind = ""

    def _end(self, mark: re.Match[str]) -> None:
        """End the turn, unless nothing has been said."""
        if mark.end() == self.struck_to:
            return
        if self.kind == "role":
            self.kind, self.position = "", mark.end()
            return
        if self.kind:
            return
        self._show(mark.start())
        self.position = mark.end()
        self.is_closed = self.has_thoughts or self.has_text


def _kind(name: str) -> str:
    """Return the kind of a mark's name. Forms of `think` close one another."""
    name = name.lower()
    return "think" if name.startswith(("think", "thought")) else name


def _role_at(text: str, position: int) -> tuple[str, int]:
    """Return the role that is named at a position, or an empty string, and its end."""
    named = _ROLE.match(text, position)
    return (str(named["role"] or "").lower(), named.end()) if named else ("", position)

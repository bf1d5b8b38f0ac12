"""Where the parts of a picture lie, read from its SVG: boxes of texts, points, and the plots that hold them."""

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations, pairwise
from xml.etree import ElementTree

SVG = "{http://www.w3.org/2000/svg}"
LETTER, NARROW = 0.61, dict.fromkeys(".,:;()| ijltfrI-", 0.36)  # widths in DejaVu Sans, as shares of its size
Point = tuple[float, float]
Matrix = tuple[float, float, float, float]
IDENTITY: Matrix = (1.0, 0.0, 0.0, 0.0)


@dataclass(frozen=True)
class Text:
    """A text as a rectangle: its corners in turn."""

    text: str
    size: float
    corners: tuple[Point, ...]


@dataclass(frozen=True)
class Picture:
    """A picture's width, its texts, and the symbols of each plot with the plot's width and height."""

    width: float
    texts: list[Text]
    symbols: list[tuple[Point, Point]]


def read(svg: str) -> Picture:
    """Read a picture that vl-convert drew."""
    root = ElementTree.fromstring(svg)
    texts, symbols = list[Text](), list[tuple[Point, Point]]()
    for element, move, plot in _walk(root, IDENTITY, (0.0, 0.0)):
        if element.tag == f"{SVG}text" and (text := "".join(element.itertext()).strip()):
            texts.append(_box(element, text, move))
        elif element.get("class", "").startswith("mark-symbol role-mark"):
            symbols += [(_point(_move(path), 0, 0), plot) for path in element]
    unique = {(one.text, one.corners): one for one in texts}  # a name's ground is a text too
    return Picture(float(root.attrib["width"]), list(unique.values()), symbols)


def overlapping(texts: list[Text]) -> list[tuple[str, str]]:
    """Return the pairs of texts whose rectangles have an area in common."""
    return [(one.text, other.text) for one, other in combinations(texts, 2) if not _apart(one.corners, other.corners)]


def _walk(
    element: ElementTree.Element, outer: Matrix, plot: Point
) -> Iterator[tuple[ElementTree.Element, Matrix, Point]]:
    """Yield each element with what moves it, and the size of the plot around it."""
    move = _after(outer, _move(element))
    background = element.find(f"{SVG}path[@class='background']")
    if background is not None and (found := re.search(r"h([\d.]+)v([\d.]+)", background.get("d", ""))):
        plot = float(found[1]), float(found[2])
    yield element, move, plot
    for part in element:
        yield from _walk(part, move, plot)


def _move(element: ElementTree.Element) -> Matrix:
    """Return the rotation and shift of an element, as cosine, sine, x, y."""
    move = IDENTITY
    for kind, numbers in re.findall(r"(translate|rotate)\(([^)]*)\)", element.get("transform", "")):
        first, *others = map(float, re.split(r"[ ,]+", numbers))
        turn = math.radians(first) if kind == "rotate" else 0.0
        shift = (0.0, 0.0) if kind == "rotate" else (first, *others)
        move = _after(move, (math.cos(turn), math.sin(turn), shift[0], shift[1]))
    return move


def _after(outer: Matrix, inner: Matrix) -> Matrix:
    cosine, sine = outer[0] * inner[0] - outer[1] * inner[1], outer[1] * inner[0] + outer[0] * inner[1]
    return cosine, sine, *_point(outer, inner[2], inner[3])


def _point(move: Matrix, x: float, y: float) -> Point:
    cosine, sine, across, down = move
    return across + x * cosine - y * sine, down + x * sine + y * cosine


def _box(element: ElementTree.Element, text: str, move: Matrix) -> Text:
    size = float(element.get("font-size", "11px").removesuffix("px"))
    lines = [line for part in element.iter(f"{SVG}tspan") if (line := part.text)] or [text]
    width = max(sum(NARROW.get(letter, LETTER) for letter in line) for line in lines) * size
    left = {"middle": -width / 2, "end": -width}.get(element.get("text-anchor", "start"), 0.0)
    top, bottom = -0.7 * size, 0.1 * size + (len(lines) - 1) * size
    edges = ((left, top), (left + width, top), (left + width, bottom), (left, bottom))
    return Text(text, size, tuple(_point(move, x, y) for x, y in edges))


def _apart(one: tuple[Point, ...], other: tuple[Point, ...]) -> bool:
    """Tell whether a line lies between two rectangles: it is parallel to a side of one of them."""
    for corners in (one, other):
        for start, end in list(pairwise(corners))[:2]:
            normal = (start[1] - end[1], end[0] - start[0])
            sides = [[x * normal[0] + y * normal[1] for x, y in each] for each in (one, other)]
            if max(sides[0]) <= min(sides[1]) or max(sides[1]) <= min(sides[0]):
                return True
    return False

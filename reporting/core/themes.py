"""Chart themes for light and dark pages, with colour-blind safe palettes."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

FONT = "DejaVu Sans, Verdana, sans-serif"
# Viridis: even steps of lightness, so that it reads in print and with any colour vision.
VIRIDIS = ("#440154", "#46327e", "#365c8d", "#277f8e", "#1fa187", "#4ac16d", "#a0da39", "#fde725")
SHAPES = (
    *("circle", "square", "triangle-up", "diamond"),
    *("cross", "triangle-down", "triangle-right", "triangle-left"),
)
Look = tuple[str, str]  # colour and shape


@dataclass(frozen=True)
class Theme:
    """Colours of one page scheme.

    people    : people's, which no judge has: with any colour vision they differ, as blue and warm colours do
    judges    : of judges, warm and of different lightness; further ones are grey
    series    : of what is no rater, one for each shape; the last is grey
    opposites : of a scale from one side through neither to the other; no rater's
    darkest   : point on Viridis that stands for a consistency of 0
    """

    name: str
    background: str
    ink: str
    grid: str
    people: str
    judges: tuple[str, ...]
    series: tuple[str, ...]
    opposites: tuple[str, str, str]
    darkest: float

    def consistency(self, value: float) -> str:
        """Return the colour of a consistency from 0 to 1, which Viridis shows from dark to bright."""
        return between(VIRIDIS, self.darkest + (1 - self.darkest) * value)

    def look(self, index: int) -> Look:
        """Return the colour and shape of people (place 0), or of a judge by its place. Grey, where colours are used up."""
        if index == 0:
            return self.people, SHAPES[0]
        colour = self.judges[index - 1] if index <= len(self.judges) else self.series[-1]
        return colour, SHAPES[1:][(index - 1) % (len(SHAPES) - 1)]

    def config(self) -> dict[str, Any]:
        """Return the Vega-Lite configuration."""
        text = {"labelColor": self.ink, "titleColor": self.ink, "labelFontSize": 12, "titleFontSize": 12}
        return {
            "background": self.background,
            "font": FONT,
            "view": {"stroke": None},
            "axis": {**text, "gridColor": self.grid, "domainColor": self.ink, "tickColor": self.ink, "labelLimit": 200},
            "legend": {**text, "labelLimit": 260},
            "header": {**text, "labelFontSize": 13, "labelLimit": 300},
            "title": {
                "color": self.ink,
                "subtitleColor": self.ink,
                "fontSize": 14,
                "subtitleFontSize": 11,
                "anchor": "start",
                "limit": 900,
            },
        }


THEMES = {
    "light": Theme(
        "light",
        "#ffffff",
        "#1b1f24",
        "#d8dde3",
        "#0072b2",
        ("#d55e00", "#6e2500", "#a87500", "#c2185b", "#4d4000", "#e0457b", "#965a2c"),
        ("#009e73", "#882255", "#000000", "#cc79a7", "#8a6d00", "#0072b2", "#d55e00", "#5b6770"),
        ("#1b7837", "#e9e9ee", "#762a83"),
        0.0,
    ),
    "dark": Theme(
        "dark",
        "#13171f",
        "#e6e9ee",
        "#39414d",
        "#56b4e9",
        ("#ff8c42", "#f0e442", "#d98f9c", "#ffcf99", "#b58a2e", "#ff7b7b", "#c7b299"),
        ("#2fc79a", "#ff8f7a", "#ffffff", "#cc79a7", "#f0e442", "#56b4e9", "#e69f00", "#9aa7b5"),
        ("#5fbf7a", "#39414d", "#c08ad0"),
        0.18,
    ),
}


def between(colours: Sequence[str], share: float) -> str:
    """Return the colour at a point from 0 to 1 on a scale through the given ones, as #rrggbb."""
    position = min(max(share, 0.0), 1.0) * (len(colours) - 1)
    lower = min(int(position), len(colours) - 2)
    weight = position - lower
    channels = zip(*(_channels(colours[index]) for index in (lower, lower + 1)), strict=True)
    return "#" + "".join(f"{round(low + (high - low) * weight):02x}" for low, high in channels)


def ink_on(colour: str) -> str:
    """Return black or white, whichever has the higher contrast on a colour (by WCAG's relative luminance)."""
    linear = [
        (channel / 255 / 12.92 if channel <= 10 else ((channel / 255 + 0.055) / 1.055) ** 2.4)
        for channel in _channels(colour)
    ]
    luminance = sum(weight * channel for weight, channel in zip((0.2126, 0.7152, 0.0722), linear, strict=True))
    return "#000000" if (luminance + 0.05) ** 2 > 0.05 * 1.05 else "#ffffff"


def _channels(colour: str) -> tuple[int, int, int]:
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)

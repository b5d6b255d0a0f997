"""All pictures are drawn in one style: fonts, sizes, line widths and pairs of colours for light and dark. The stills of
panels are made by tests/web/stills.js, in the panels' style."""

import re
import unittest
from pathlib import Path

from support import ROOT, require_packages

require_packages()
from lockstep_site import pictures  # noqa: E402

FONTS = {"system-ui, -apple-system, 'Segoe UI', 'DejaVu Sans', sans-serif", "'DejaVu Sans Mono', monospace"}
SIZES = {"13px", "14px", "16px"}       # notes, values, names
WIDTHS = {"1", "1.4", "2", "5"}        # axes and what is absent, boxes, arrows, roads
DARK = {                               # light -> dark
    "#ffffff": "#0d1117", "#1f2328": "#e6edf3", "#57606a": "#9aa5b1", "#aab4c0": "#47515d", "#f6f8fa": "#161b22",
    "#2f6fd0": "#4c8dff", "#d6e6fc": "#17305a", "#f3f7fd": "#121d2f", "#2459a8": "#79b0ff",
    "#d9730d": "#ff9f43", "#ffe3c7": "#4a2c0d", "#fff3e6": "#2b1d0e", "#b35a00": "#ffb26b",
    "#2e8b57": "#4cc38a", "#d5efde": "#143d27", "#e8f6ec": "#11271a", "#b08d16": "#d8b747", "#fbeebd": "#453a0e",
    "#6a3fa0": "#b58cf0", "#e7d6f5": "#43295f", "#b3261e": "#ff8a80"}


def colours_of(css: str) -> dict[str, str]:
    """Selector and property -> colour, of the rules in `css`."""
    found = {}
    for selectors, body in re.findall(r"([^{}]+)\{([^{}]*)\}", css):
        for name, value in re.findall(r"\b(fill|stroke):\s*([^;]+);", body):
            for selector in selectors.split(","):
                if value != "none":
                    found[f"{selector.strip()} {name}"] = value
    return found


def faults_of(svg: str) -> list[str]:
    """What of a picture is not in the style."""
    styles = re.search(r"<style>(.*?)</style>", svg, re.DOTALL)
    parts = pictures.split(styles.group(1)) if styles else None
    if parts is None:
        return ["has no colours for dark"]
    light, dark = colours_of(parts[0]), colours_of(parts[1])
    faults = [f"{what} is {colour}, which is not a colour of ours" for what, colour in light.items() if colour not in DARK]
    faults += [f"{what} is {dark.get(what)} in dark instead of {DARK[colour]}" for what, colour in light.items()
               if colour in DARK and dark.get(what) != DARK[colour]]
    drawing = svg.replace(styles.group(0), "")
    faults += [f"{colour} is not in the style sheet" for colour in re.findall(r'(?:fill|stroke)="(#[^"]*)"', drawing)]
    for name, allowed in (("font-family", FONTS), ("font-size", SIZES), ("stroke-width", WIDTHS), ("font-weight", {"600"})):
        faults += [f"{name} {value}" for value in re.findall(rf'{name}(?::\s*|=")([^;"]+)', svg) if value not in allowed]
    faults += [f"{text} is not a unit: write µs" for text in re.findall(r"\d us\b", drawing)]
    return faults


def drawn_by_hand() -> list[Path]:
    return [path for folder in ("chapters", "docs") for path in sorted((ROOT / folder).rglob("*.svg"))
            if ROOT / "docs" / "site" not in path.parents]


class Pictures(unittest.TestCase):
    def test_every_picture_is_in_the_style(self) -> None:
        found = drawn_by_hand()
        self.assertGreater(len(found), 20)
        self.assertEqual([f"{path.relative_to(ROOT)}: {fault}" for path in found for fault in faults_of(path.read_text())], [])

    def test_each_deviation_is_found(self) -> None:
        good = ('<svg><style>.a { fill: #ffffff; stroke-width: 2; } '
                '@media (prefers-color-scheme: dark) { .a { fill: #0d1117; } }</style><text class="a">3 µs</text></svg>')
        self.assertEqual(faults_of(good), [])
        for part, other in (("{ fill: #0d1117; }", "{ fill: #000000; }"), ("#ffffff", "#fffffe"), ("stroke-width: 2", "stroke-width: 3"),
                            ("µs", "us"), ('class="a"', 'font-size="11px"'), ('class="a"', 'fill="#ffffff"'),
                            ('class="a"', 'font-family="serif"'), ("prefers-color-scheme", "prefers-contrast")):
            self.assertEqual(len(faults_of(good.replace(part, other))), 1, (part, other))


if __name__ == "__main__":
    unittest.main()

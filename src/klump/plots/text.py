"""Text from users in pictures: shown as it is, never read as mathematics, cut if it is long."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable, Sequence
from functools import cache
from importlib import import_module
from itertools import takewhile
from typing import TYPE_CHECKING, Any

from klump.chain.wording import CUT, cell_len, fit, format_count
from klump.plots.figure import TEXT, axes_size

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Fonts with the characters of languages that matplotlib's own font lacks; those that are installed are used.
_FONTS = (
    *("Noto Sans CJK SC", "Noto Sans CJK JP", "Source Han Sans SC", "WenQuanYi Zen Hei", "Microsoft YaHei"),
    *("PingFang SC", "Hiragino Sans", "Yu Gothic", "Malgun Gothic", "Noto Sans", "Arial Unicode MS"),
    *("Noto Sans Devanagari", "Noto Sans Thai", "Noto Emoji", "Segoe UI Emoji", "FreeSans", "Unifont"),
)
# Largest number of groups with names in a picture.
MAX_NAMED = 60
# Width of names of states and groups, in columns.
NAME_WIDTH = 24
# Names along an axis up to this width are written horizontally, in columns.
_UPRIGHT_WIDTH = 3
# Font size of legends, in points.
_LEGEND_SIZE = 8.5
# Width of the handle of a legend with its margins, in points.
_HANDLE_WIDTH = 34.0
# Mean width of a character, as a multiple of the font size.
_CHARACTER_WIDTH = 0.5
# Text between dollar signs.
_FORMULA = re.compile(r"\$[^$]*\$")


def plain() -> dict[str, Any]:
    """Properties of a matplotlib Text that is shown as it is: ``$`` starts no formula, and TeX is not called."""
    found: dict[str, Any] = {"parse_math": False, "usetex": False}
    return {
        **found,
        "fontfamily": [*import_module("matplotlib").rcParams["font.family"], *_installed_fonts()],
    }


@cache
def _installed_fonts() -> tuple[str, ...]:
    known = set(import_module("matplotlib.font_manager").fontManager.get_font_names())
    return tuple(font for font in _FONTS if font in known)


def cut_name(name: Hashable, width: int = NAME_WIDTH) -> str:
    """Cut the name of a state to a width; quoted if it is empty, not printable, or starts or ends with a blank.

    >>> cut_name("$a_b$"), cut_name("consonants", 8), cut_name(" "), cut_name("new york")
    ('$a_b$', 'conso...', "' '", 'new york')
    """
    text = str(name)
    return fit(text if text and text == text.strip() else repr(text), width)


def cut_text(text: str, width: int = NAME_WIDTH) -> str:
    """Cut the name of a group to a width; unlike the name of a state it may have blanks.

    >>> cut_text("e a o"), cut_text("vowels and blanks", 8)
    ('e a o', 'vowel...')
    """
    return fit(text, width)


def cut_all(names: Iterable[Hashable], width: int, cut: Callable[[Any, int], str] = cut_text) -> list[str]:
    """Cut names to a width; names that would be cut to the same text show where they begin to differ.

    >>> cut_all(["page of the shop 1", "page of the shop 2", "cart"], 10)
    ['p...shop 1', 'p...shop 2', 'cart']
    """
    given = list(names)
    # Wide enough to cut nothing: escapes take up to ten columns per character.
    whole = [cut(name, 10 * len(str(name)) + 2) for name in given]
    found = [cut(name, width) for name in given]
    alike: dict[str, set[str]] = {}
    for text, short in zip(whole, found, strict=True):
        alike.setdefault(short, set()).add(text)
    return [
        _cut_before(text, _count_shared(alike[short]), width) if len(alike[short]) > 1 else short
        for text, short in zip(whole, found, strict=True)
    ]


def _count_shared(texts: set[str]) -> int:
    """Number of characters with which all texts begin: those of the first and the last in sorting order."""
    pairs = zip(min(texts), max(texts), strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def _cut_before(text: str, start: int, width: int) -> str:
    """Cut a text so that its beginning and what follows a position are kept."""
    if cell_len(text) <= width:
        return text
    head = fit(text, max(width // 3, len(CUT) + 1))
    room = width - cell_len(head)
    first = max(0, min(start - 1, len(text) - room))
    while cell_len(text[first:]) > room and first < start - 1:
        first += 1
    return head + fit(text[first:], room)


def count_repeats(colours: Sequence[Any]) -> list[int]:
    """Count for each group the groups before it with the same colour, which need a second distinction.

    >>> count_repeats(["red", "blue", "red", "red"])
    [0, 0, 1, 2]
    """
    seen: dict[str, int] = {}
    found = []
    for colour in map(str, colours):
        found.append(seen.get(colour, 0))
        seen[colour] = found[-1] + 1
    return found


def count_unnamed(n_groups: int, separator: str = "; ") -> str:
    """Say how many groups have no name in a picture, if there are any.

    >>> count_unnamed(70), count_unnamed(3)
    ('; the other 10 groups are not named', '')
    """
    rest = n_groups - MAX_NAMED
    return f"{separator}the other {format_count(rest, 'group')} {'is' if rest == 1 else 'are'} not named" * (
        rest > 0
    )


def name_ticks(
    axes: Axes,
    places: Sequence[float] | Any,
    names: Sequence[str],
    which: str = "x",
    colours: Sequence[str] | None = None,
    size: float = 8.0,
) -> None:
    """Write names along an axis, upright if they are short and few; optionally each in a colour."""
    upright = which == "y" or (
        len(names) <= 40 and max(map(len, names), default=0) <= max(_UPRIGHT_WIDTH, 60 // (len(names) + 1))
    )
    axis = axes.xaxis if which == "x" else axes.yaxis
    axis.set_ticks(places, list(names), rotation=0 if upright else 90, fontsize=size, **plain())
    axis.set_tick_params(length=0)
    for label, colour in zip(axis.get_ticklabels(), colours or (), strict=False):
        label.set_color(colour)


def add_legend(
    target: Any, handles: Sequence[Any], names: Sequence[str], *, as_is: bool = True, **options: Any
) -> Any:
    """Add a legend to axes or to a figure, names as they are, also those that start with an underscore.

    Names that klump itself writes may have formulas: those are not shown as they are.
    """
    # Placeholders: matplotlib leaves out labels that start with an underscore.
    legend = target.legend(
        list(handles),
        [str(number) for number in range(len(names))],
        frameon=False,
        labelcolor=TEXT,
        **options,
    )
    for text, name in zip(legend.get_texts(), names, strict=True):
        text.set(text=name, **(plain() if as_is else {}))
    return legend


def legend_above(axes: Axes, handles: Sequence[Any], names: Sequence[str], **options: Any) -> Any:
    """Add a legend above the axes, where it covers nothing."""
    width = float(axes_size(axes)[0])
    # A formula is about as wide as three characters.
    longest = max((len(_FORMULA.sub("...", name)) for name in names), default=1)
    entry = _HANDLE_WIDTH + _LEGEND_SIZE * _CHARACTER_WIDTH * longest
    columns = max(1, min(len(names), int(width / entry)))
    place: Any = {"loc": "lower left", "bbox_to_anchor": (0.0, 1.0), "ncols": columns, "borderaxespad": 0.2}
    style: Any = {"fontsize": _LEGEND_SIZE, "handlelength": 1.8, "columnspacing": 1.4}
    return add_legend(axes, handles, names, **place, **style, **options)

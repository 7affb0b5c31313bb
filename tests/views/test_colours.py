"""The palette is distinguishable under colour vision deficiency, and legible on white and on dark."""

from itertools import combinations

import numpy as np
import pytest

from klump.views import PALETTE

# Machado, Oliveira and Fernandes (2009), severity 1.0, on linear RGB.
SIMULATIONS = {
    "normal": np.eye(3),
    "protanopia": [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    "deuteranopia": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ],
    "tritanopia": [
        [1.255528, -0.076749, -0.178779],
        [-0.078411, 0.930809, 0.147602],
        [0.004733, 0.691367, 0.303900],
    ],
}
# sRGB to XYZ, divided by the white point D65.
TO_XYZ = (
    np.array(
        [
            [0.4124564, 0.3575761, 0.1804375],
            [0.2126729, 0.7151522, 0.0721750],
            [0.0193339, 0.1191920, 0.9503041],
        ]
    )
    / np.array([0.95047, 1.0, 1.08883])[:, None]
)


def linear(colour):
    channels = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    return np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)


def lab(rgb):
    """CIELAB coordinates of linear RGB."""
    xyz = TO_XYZ @ np.clip(rgb, 0, 1)
    f = np.where(xyz > 216 / 24389, np.cbrt(xyz), (24389 / 27 * xyz + 16) / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


def contrast(colour, other):
    """Contrast of WCAG 2."""
    luminance = sorted(np.array([0.2126, 0.7152, 0.0722]) @ linear(each) for each in (colour, other))
    return (luminance[1] + 0.05) / (luminance[0] + 0.05)


@pytest.mark.parametrize("vision", SIMULATIONS)
def test_colours_are_distinguishable(vision):
    """Distances in CIELAB: 2.3 is just noticeable; 10 is plain side by side, and 17 also far apart."""
    seen = [lab(np.array(SIMULATIONS[vision]) @ linear(colour)) for colour in PALETTE]
    distance = {pair: np.linalg.norm(seen[pair[0]] - seen[pair[1]]) for pair in combinations(range(12), 2)}
    assert min(far for (_, second), far in distance.items() if second < 8) > 17
    assert min(distance.values()) > 14


@pytest.mark.parametrize("background", ["#ffffff", "#16181c"])
def test_colours_contrast_with_light_and_dark_pages(background):
    assert min(contrast(colour, background) for colour in PALETTE) >= 3


def test_simulation_knows_what_cannot_be_told_apart():
    """Red and green of equal lightness: far apart for normal vision, close for deuteranopia."""
    pair = [linear(colour) for colour in ("#c0504d", "#7f7a3b")]
    apart = {
        vision: np.linalg.norm(np.subtract(*(lab(np.array(matrix) @ rgb) for rgb in pair)))
        for vision, matrix in SIMULATIONS.items()
    }
    assert apart["normal"] > 40 and apart["deuteranopia"] < 17

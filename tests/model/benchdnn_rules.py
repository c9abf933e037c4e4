"""benchdnn's rules of a convolution's descriptor, stated a second time and in another way than the reader's.

A descriptor is a table of three axes and six letters. What is read off it here is one dictionary an axis, the rules are
applied to these dictionaries one after the other, in the documented order.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

AXES = "dhw"
LETTERS = "iokspd"


@dataclass(frozen=True)
class Axis:
    input: int
    output: int
    filter: int
    stride: int
    dilation: int
    left: int
    right: int


@dataclass(frozen=True)
class Described:
    groups: int
    images: int
    channels: tuple[int, int]
    axes: tuple[Axis, ...]


def stated(numbers: dict[str, int]) -> Described | None:
    """The problem that {field: number} describes; None: benchdnn rejects it, or there is no such problem."""
    table = {axis: {letter: numbers.get(letter + axis) for letter in LETTERS} for axis in AXES}
    there = {axis: not _absent(row) for axis, row in table.items()}

    if there["d"] and there["h"] != there["w"]:
        return None
    if there["d"] and not there["h"]:
        order = ["d", "d", "d"]
    elif there["d"]:
        order = ["d", "h", "w"]
    elif there["h"]:
        order = ["h", "w" if there["w"] else "h"]
    elif there["w"]:
        order = ["w"]
    else:
        return None

    axes = [_axis(table[name]) for name in order]
    groups = numbers.get("g", 1)
    channels = [numbers.get(name, 0) for name in ("ic", "oc")]
    images = numbers.get("mb", 2)
    if None in axes or groups < 1 or images < 1 or any(count < 1 or count % groups for count in channels):
        return None
    return Described(groups, images, (channels[0] // groups, channels[1] // groups), tuple(a for a in axes if a))


def _absent(row: dict[str, int | None]) -> bool:
    return all((row[letter] or 0) == 0 for letter in "iokd") and row["s"] in (None, 1) and (row["p"] or 0) <= 0


def _axis(row: dict[str, int | None]) -> Axis | None:
    size, taps, result = row["i"] or 0, row["k"] or 0, row["o"] or 0
    stride = 1 if row["s"] is None else row["s"]
    dilation = (row["d"] or 0) + 1  # given as holes between two taps
    if size < 1 or taps < 1 or stride < 1:
        return None
    window = 1 + dilation * (taps - 1)
    if result == 0:
        pad = row["p"] or 0
        room = size + 2 * pad - window
        return Axis(size, 1 + room // stride, taps, stride, dilation, pad, pad) if room >= 0 else None
    # All pads together, so that the last window ends with the padded input.
    total = stride * (result - 1) + window - size
    left = int(total / 2) if row["p"] is None else row["p"]  # int() cuts towards zero, as C does
    right = total - left
    if left < 0:
        return None
    # Cells at the right that no window reaches: fewer than a stride of them are the same problem without a pad.
    if right < 0:
        return Axis(size, result, taps, stride, dilation, left, 0) if -right < stride else None
    return Axis(size, result, taps, stride, dilation, left, right)


def drawn(seed: int) -> tuple[str, dict[str, int]]:
    """A descriptor and the numbers in it: mostly such as are written, with what may be left out left out at random."""
    rng = random.Random(seed)
    groups = rng.choice([1, 1, 1, 2, 4, 16])
    numbers: dict[str, int] = {}
    if rng.random() < 0.9:
        numbers["mb"] = rng.choice([1, 2, 7, 32])
    if groups > 1 or rng.random() < 0.3:
        numbers["g"] = groups
    for name in ("ic", "oc"):
        numbers[name] = groups * rng.choice([1, 3, 8, 16]) + (rng.random() < 0.03)
    for axis in rng.choice(["w", "h", "hw", "hw", "hw", "d", "dhw", "dhw", "dh", "dw", ""]):
        numbers |= {letter + axis: number for letter, number in _row(rng).items()}
    if rng.random() < 0.15:  # letters of another axis, alone
        numbers[rng.choice(LETTERS) + rng.choice(AXES)] = rng.choice([0, 1, 2, 3])
    fields = list(numbers.items())
    if rng.random() < 0.3:
        rng.shuffle(fields)
    text = "".join(f"{'_' * rng.choice([0, 0, 0, 1, 2])}{name}{number}" for name, number in fields)
    return text + rng.choice(["", "", 'n"conv1"', "n3d_unet", "n*resnet:1", "n1x1_2"]), numbers


def _row(rng: random.Random) -> dict[str, int]:
    size, taps = rng.randint(1, 40), rng.choice([1, 1, 2, 3, 3, 5, 6, 7])
    stride, holes, pad = rng.choice([1, 1, 1, 2, 3, 4]), rng.choice([0, 0, 0, 1, 2]), rng.choice([0, 0, 1, 2, 3])
    row = {"i": size, "k": taps}
    if stride > 1 or rng.random() < 0.2:
        row["s"] = stride
    if holes or rng.random() < 0.2:
        row["d"] = holes
    window = (taps - 1) * (holes + 1) + 1
    if rng.random() < 0.7:
        fits = (size + 2 * pad - window) // stride + 1
        row["o"] = max(0, fits + rng.choice([0, 0, 0, 0, 1, -1, -2]))
    if rng.random() < 0.6:
        row["p"] = pad
    for letter in "ik":
        if rng.random() < 0.03:
            del row[letter]
    return row

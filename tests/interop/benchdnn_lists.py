"""What benchdnn's lists mean, stated a second time: by substitution in the whole text, not line by line.

Every descriptor is one of a few whose case ids are written here by hand; no code of the reader is used.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import product

CONVOLUTIONS = {
    'mb1ic8oc8ih5kh3ph1n"first"': ("k8c8_y3_h5_p1", 1, 8, 25),
    "g2mb3ic8_oc4iw7kw3sw2pw1": ("g2n3k2c4_y3_h7_s2_p1", 3, 4, 12),
    'ic16oc8ih4iw6kh1kw2n"last"': ("n2k8c16_y1x2_h4x6", 2, 8, 40),
}
"""Each with the end of its id, images, channels and places of the result."""
PRODUCTS = {"3x4:4x5": (1, "b1m3n5k4"), "2x3x4:2x4x5_n": (2, "b2m3n5k4"), '1x8x8:1x8x8n"one"': (1, "b1m8n8k8")}
"""Each with its batch and the end of its id."""
DEFAULTS: Mapping[str, Mapping[str, str]] = {
    "conv": {"dir": "FWD_B", "dt": "f32", "stag": "any", "mb": "0", "bia-dt": "undef", "attrs": "", "zeros": ""},
    "matmul": {"dt": "f32", "stag": "any", "bia-dt": "undef", "bia_mask": "2", "attrs": "", "zeros": ""},
}
OPTIONS = {
    "dir": ("FWD_D", "FWD_I", "FWD_B", "BWD_D", "BWD_W", "BWD_WB"),
    "dt": ("f32", "f16", "bf16:bf16:f32", "u8:s8:s8"),
    "stag": ("any", "abx", "axb"),
    "mb": ("0", "4"),
    "bia-dt": ("undef", "f32", "f16"),
    "bia_mask": ("1", "2", "4"),
    "attr-post-ops": ("", "sum:0.5", "relu", "sum:0.5+relu", "gelu_erf"),
    "attr-zero-points": ("", "src:common:1"),
}
NAMES = {"attr-post-ops": "attrs", "attr-zero-points": "zeros"}
POST_OPS = {"": "", "sum:0.5": "_inplace_a1_b0p5", "relu": "_relu"}
"""Ends of ids; the others are refused."""
IGNORED = (
    "--skip-impl=ref,x64:gemm",
    "--mode=C",
    "-v5",
    "--alg=direct",
    "--attr-scratchpad=library,user",
    "--summary=",
)
TYPES = {"f32": "f32", "f16": "f16", "bf16:bf16:f32": "bf16_bf16_f32"}


@dataclass
class Meaning:
    """Case ids that a list asks for, with how often, and how many combinations it cannot have."""

    read: Counter[str] = field(default_factory=Counter)
    refused: int = 0


def meaning(driver: str, name: str, files: Mapping[str, str]) -> Meaning:
    found = Meaning()
    _follow(driver, _words(files[name]), files, dict[str, list[str]](), found)
    return found


def _words(text: str) -> list[str]:
    plain = re.sub(r"(?:(?<=\s)|^)#[^\n]*", " ", text)
    marked = "\0".join(plain.split()) + "\0"
    return marked.replace("\0\\\0", "").replace("\\\0", "").split("\0")


def _follow(
    driver: str, words: list[str], files: Mapping[str, str], state: dict[str, list[str]], found: Meaning
) -> None:
    for word in filter(None, words):
        option = re.fullmatch(r"--([\w-]+)=(.*)", word)
        if word == "--reset":
            state.clear()
        elif option is not None and option[1] == "batch":
            _follow(driver, _words(files[option[2]]), files, state, found)
        elif option is not None and option[1] in OPTIONS:
            state[NAMES.get(option[1], option[1])] = option[2].split(",")
            if not option[2]:
                del state[NAMES.get(option[1], option[1])]
        elif not word.startswith("-"):
            ids = set[str]()
            settings = {name: state.get(name, [usual]) for name, usual in DEFAULTS[driver].items()}
            asked = {
                tuple(_settled(dict(zip(settings, values, strict=True))).items())
                for values in product(*settings.values())
            }
            for values in asked:
                for case in (_convolution if driver == "conv" else _product)(word, dict(values)):
                    found.refused += not case
                    ids |= {case} if case else set()
            found.read.update(ids)


def _settled(values: dict[str, str]) -> dict[str, str]:
    if values.get("dir") in ("FWD_B", "BWD_WB"):
        values["bia-dt"] = "undef"
    if values["bia-dt"] == "undef" and "bia_mask" in values:
        values["bia_mask"] = "2"
    return values


def _convolution(word: str, values: dict[str, str]) -> Iterator[str]:
    """Yield a case id, and of BWD_WB a second; the empty text for what is refused."""
    tail, images, channels, places = CONVOLUTIONS[word]
    dtypes, result = TYPES.get(values["dt"]), values["dt"].split(":")[-1]
    name = values["dir"]
    biased = values["bia-dt"] != "undef"
    wrong = biased and (values["bia-dt"] != result or name.startswith("BWD"))
    biased = biased or name == "FWD_B"
    wrong = wrong or (values["attrs"] != "" and (biased or name.startswith("BWD")))
    if values["attrs"] not in POST_OPS or values["zeros"] or dtypes is None or wrong:
        yield ""
        return
    if values["mb"] != "0":
        tail, places, images = re.sub(r"n\d", "", tail), places // images * 4, 4
        tail = re.sub(r"^(g2)?", r"\1n4", tail)
    elif "n" not in tail:
        tail = f"n1{tail}"
    direction = {"FWD": "fwd", "BWD_D": "bwd_data", "BWD_W": "bwd_weight"}[
        name if name in ("BWD_D", "BWD_W") else "FWD" if name.startswith("FWD") else "BWD_W"
    ]
    one = "iw" in word and "ih" not in word
    layout = {"abx": "ngcw" if one else "ngchw"}.get(values["stag"], "nwgc" if one else "nhwgc")
    yield f"{direction}_{dtypes}_{layout}_{tail}{'_bias' if biased else POST_OPS[values['attrs']]}"
    if name == "BWD_WB":
        if values["stag"] == "abx":
            yield f"reduction_{result}_o{channels}l{places}_sum" if images == 1 else ""
        else:
            yield f"reduction_{result}_o1l{places}i{channels}_sum"


def _product(word: str, values: dict[str, str]) -> Iterator[str]:
    batch, tail = PRODUCTS[word]
    dtypes, result = TYPES.get(values["dt"]), values["dt"].split(":")[-1]
    columns = {1: "2", 2: "4"}[word.partition(":")[0].count("x")]
    biased = values["bia-dt"] != "undef"
    wrong = biased and (values["bia-dt"] != result or values["bia_mask"] != columns or batch > 1)
    wrong = wrong or (values["attrs"] != "" and biased)
    if values["attrs"] not in POST_OPS or values["zeros"] or dtypes is None or wrong:
        yield ""
    else:
        order = {"any": "rcr", "abx": "rcr"}.get(values["stag"])
        order = order or ("crr" if word.count("x") > 2 else "rcr")
        yield f"gemm_{dtypes}_{order}_{tail}{'_bias' if biased else POST_OPS[values['attrs']]}"

"""Advice where a program fails to compile for something that only the software of a GPU has."""

from __future__ import annotations

import re
from collections.abc import Iterator

_ON_A_GPU = (
    r"(?:hip|roc|cu)(?:fft|sparse(?:lt)?|solver|tensor|dnn|prim|thrust|blaslt)|miopen|rccl|nccl|migraphx|rocwmma"
    r"|roctracer|rocm_smi|nvml|cutlass|cute|cuda/std|composable_kernel|ck_tile|mma|cufile|optix"
)
"""Libraries whose algorithms exist as device code alone."""
_HEADER = re.compile(
    rf"^(?P<place>[^\s:]+:\d+):[\d:]* fatal error: '?(?P<header>(?:{_ON_A_GPU})[\w/.+-]*)'?(?:: No such| file not)",
    re.MULTILINE,
)
_MEMBER = re.compile(
    r"^(?P<place>[^\s:]+:\d+):[\d:]* error: '(?P<name>\w+)' is not a member of '(?P<library>thrust|hipcub|cub)",
    re.MULTILINE,
)
_FUNCTION = re.compile(
    r"^(?P<place>[^\s:]+:\d+):[\d:]* error: "
    r"'(?P<name>(?:hip|cu(?:da|blas|rand)?|roc)[A-Za-z]\w+|__\w+)' was not declared",
    re.MULTILINE,
)
_ASSEMBLY = re.compile(
    r"^(?P<place>[^\s:]+:\d+):(?:[\d:]* error: (?:(?:impossible|output|inconsistent operand|invalid \w+) constraint"
    r"|unrecognized instruction|invalid instruction)| Error: )",
    re.MULTILINE,
)
WRITE = "write it in C++ where __HIP_PLATFORM_HOST__ is defined"
DO = "compile this part out where __HIP_PLATFORM_HOST__ is defined, or write it as a kernel"


def advice(errors: str) -> Iterator[str]:
    """Yield a line for each thing that a compiler has missed and the host runtime does not have."""
    plain = re.sub(r"\x1b\[[0-9;]*[mK]", "", errors).replace("\u2018", "'").replace("\u2019", "'")
    said: set[str] = set()
    for pattern, words in (
        (_HEADER, "{header} belongs to a library of device code, which has no stand-in on the host: " + DO),
        (_MEMBER, "{library} has no stand-in for {name} on the host: " + DO),
        (
            _ASSEMBLY,
            "assembly of a GPU has no meaning on the host: write it in C++ where __HIP_PLATFORM_HOST__ is defined",
        ),
        (_FUNCTION, "the host runtime has no {name}: " + DO),
    ):
        for match in pattern.finditer(plain):
            line = words.format(**match.groupdict())
            if line not in said:
                said.add(line)
                yield f"{match['place']}: {line}"

"""A repository for a kernel that is to be written: it runs, it is green, and its one seeded defect is found.

Of an operation for which there is no template it builds, and says what is to be filled in.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib.resources import files
from pathlib import Path
from typing import Literal, TypeAlias

from bitgate.core.errors import UsageError, near
from bitgate.kernel.registry import families
from bitgate.model import Problem, operations, parse_case_id

Kind: TypeAlias = Literal["library", "source", "module", "callable"]
KINDS: tuple[Kind, ...] = ("library", "source", "module", "callable")
OWN, GEMM, STUB = "", "gemm_", "stub_"
"""How the names of templates begin: an operation of one's own, a GEMM, any other operation."""
SUFFIXES: dict[Kind, str] = {"library": "hip.cpp", "source": "cu", "module": "cu"}
"""A function is in the declaration itself."""
COMPILED = "ptx"
"""The suffix of a module: the source, compiled by nvcc to text, which GPUs of several generations take."""
MADE_BY = """

The module was compiled by `nvcc -ptx -arch=compute_75 {name}.cu`, and is for NVIDIA GPUs since sm_75. Another file in
sources, such as of `hipcc --genco --offload-arch=gfx942`, needs its platform too.
"""
CASES = {
    "fwd": "fwd_f32_nhwgc_g1n2k3c4_y3x3_h5x5",
    "bwd_data": "bwd_data_f32_nhwgc_g1n2k3c4_y3x3_h5x5",
    "bwd_weight": "bwd_weight_f32_nhwgc_g1n2k3c4_y3x3_h5x5",
    "gemm": "gemm_f32_m7n9k5",
    "reduction": "reduction_f32_o3l17i2_sum",
}
"""A small case of each operation."""
LOOPS: dict[tuple[str, Kind], tuple[str, str]] = {
    (OWN, "library"): ("c < shape.columns;", "c < shape.columns / 4 * 4;"),
    (OWN, "source"): ("c < columns;", "c < columns / 4 * 4;"),
    (GEMM, "library"): ("i < shape.k;", "i < shape.k / 4 * 4;"),
    (GEMM, "source"): ("i < k;", "i < k / 4 * 4;"),
}
"""What the seeded defect replaces, and by what."""
VERDICTS = {OWN: 8, GEMM: 18, STUB: 1}
"""Of its smoke tier."""
PATHS = {OWN: "a_row_a_thread", GEMM: "a_cell_a_thread", STUB: "a_cell_a_thread"}

LONGEST = 40


@dataclass(frozen=True)
class Skeleton:
    """A new folder: its name, what its kernel computes (empty: an operation that it states), and the kernel's kind."""

    name: str
    operation: str = OWN
    kind: Kind = "library"

    def __post_init__(self) -> None:
        if self.operation not in ("", *CASES):
            raise UsageError(f"--operation {self.operation}: {near(self.operation, CASES)}; leave it out for your own")
        if self.kind not in KINDS:
            raise UsageError(f"--kind {self.kind}: {near(self.kind, KINDS)}")
        if self.is_module and self.is_stub:
            raise UsageError(
                f"--kind module: of {self.operation} there is none to begin with: take --kind source, and compile that"
            )

    @property
    def begin(self) -> str:
        return OWN if not self.operation else GEMM if self.operation == "gemm" else STUB

    @property
    def verdicts(self) -> int:
        return VERDICTS[self.begin]

    @property
    def is_stub(self) -> bool:
        """True if something is to be filled in before a case is compared."""
        return self.begin == STUB

    @property
    def source(self) -> str:
        """The file with the kernel."""
        return f"{self.name}.{SUFFIXES[self.kind]}" if self.kind in SUFFIXES else "declaration.py"

    @property
    def has_fault(self) -> bool:
        """True if there is a seeded defect: an edit of what is compiled."""
        return not self.is_stub and self.kind in SUFFIXES and not self.is_module

    @property
    def is_module(self) -> bool:
        return self.kind == "module"

    @property
    def case(self) -> str:
        """A small case of its smoke tier."""
        return CASES.get(self.operation, f"{self.name}_f32_r7c9")

    @property
    def files(self) -> dict[str, str]:
        """The place of each file, below the new folder, and its template."""
        name, begin = self.name, self.begin
        of_kind = {"library": "", "module": "source_"}.get(self.kind, f"{self.kind}_")
        declaration = f"{of_kind}declaration.py"
        source = {f"kernels/{name}/{self.source}": f"{begin}kernel.{one}" for one in [SUFFIXES.get(self.kind)] if one}
        found = {
            "bitgate.toml": "bitgate.toml",
            ".gitignore": "gitignore",
            f"kernels/{name}/operation.py": "operation.py",
            f"kernels/{name}/declaration.py": f"{begin}{declaration}",
            **source,
            **({f"kernels/{name}/{name}.{COMPILED}": f"{begin}kernel.{COMPILED}"} if self.is_module else {}),
            f"suites/{name}/cases.toml": f"{begin}cases.toml",
            f"suites/{name}/test_{name}.py": "test_suite.py",
            f"suites/faults/{name}.toml": "faults.toml",
        }
        lacking = {f"kernels/{name}/operation.py"} if begin else set()
        lacking |= {f"suites/faults/{name}.toml"} if not self.has_fault else set()
        return {place: template for place, template in found.items() if place not in lacking}

    def text(self, template: str) -> str:
        """Return a template with the folder's own words."""
        text = (files(__name__) / "files" / f"{template}.template").read_text()
        return re.sub(r"@([A-Z_]+)@", lambda match: self._words[match[1]], text)

    @cached_property
    def _words(self) -> Mapping[str, str]:
        words = {"NAME": self.name, "OPERATION": self.operation, "SOURCE": self.source}
        words["PATH"] = {"source": "source", "module": "source", "callable": "f32"}.get(self.kind, PATHS[self.begin])
        kernel = "gemm" if self.begin == GEMM else "weighted_sums"
        words |= {"T": "float", "BEGIN": 'extern "C" __global__', "KERNEL": kernel, "PLATFORMS": '("nvidia",)'}
        words |= {"COMPILED": f"{self.name}.{COMPILED}", "MADE_BY": MADE_BY.format(name=self.name)}
        if not self.is_module:
            words |= {"T": "T", "BEGIN": "template <typename T>\n__global__", "KERNEL": f"{kernel}<float>"}
            words |= {"COMPILED": self.source, "MADE_BY": "", "PLATFORMS": '("host", "amd", "nvidia")'}
        if self.is_stub:
            return words | {"CASE": CASES[self.operation]} | _words_of(parse_case_id(CASES[self.operation]), self.kind)
        return words | dict(zip(("LOOP", "SHORT"), LOOPS.get((self.begin, self.kind), ("", "")), strict=True))


def _words_of(problem: Problem, kind: Kind) -> dict[str, str]:
    """Return what a stub says of an operation's tensors."""
    element = "T" if kind == "source" else "float"
    roles = list(problem.tensors)
    pointers = {role: f"{'' if role in problem.outputs else 'const '}{element}* {role}" for role in roles}
    layouts, ndims = tuple({problem.layout} & problem.operation.layouts), (problem.ndim,)
    casts = (
        f"  to.{role} = static_cast<{pointers[role].rpartition(' ')[0]}>(bitgate::buffer_of(problem, buffers,"
        f' "{role}"));'
        for role in roles
    )
    return {
        "RESULT": problem.result,
        "ROLES": _listed(f"{role} of {len(one.lengths)} axes" for role, one in problem.tensors.items()),
        "ARGUMENTS": _listed((f'"{role}"' if kind == "source" else f"TO.{role}") for role in roles).replace(
            "TO.", "buffers."
        ),
        "PARAMETERS": _listed(pointers.values()),
        "LAYOUTS": repr(layouts).replace("'", '"'),
        "LAYOUT_LIST": ",".join(layouts),
        "NDIMS": repr(ndims),
        "BUFFERS": "\n".join(f"    {one};" for one in pointers.values()),
        "TENSORS": _listed(roles),
        "READS": "\n".join(f'  reader.tensor("{role}", to.{role});' for role in roles),
        "POINTERS": "\n".join(casts),
    }


def _listed(texts: Iterable[str]) -> str:
    return ", ".join(texts)


def check_name(name: str) -> None:
    """UsageError for what can be no name of a family, an operation, a C++ namespace and a folder at once."""
    if not re.fullmatch(r"[a-z][a-z0-9]*(_[a-z0-9]+)*", name) or len(name) > LONGEST:
        what = f"a-z, 0-9 and single _ between them, a letter first, at most {LONGEST} characters, such as row_sums"
        raise UsageError(f"kernels new: {name[:80]!r} can be no name of a kernel: {what}")
    for known, kind in ((families(), "a kernel family"), (operations(), "an operation")):
        if name in known:
            raise UsageError(f"kernels new: bitgate has {kind} '{name}': choose another name")


def make(made: Skeleton, below: Path) -> list[Path]:
    """Write a new folder and return its files, relative to ``below``. Raises UsageError if its name is none,
    if the folder exists, or if it cannot be written; then nothing is left."""
    check_name(made.name)
    folder = below / made.name
    try:
        folder.mkdir()
    except FileExistsError:
        raise UsageError(f"kernels new: {folder} is there already: choose another name, or move it away") from None
    except OSError as error:
        raise _cannot(folder, error) from None
    try:
        return [_write(made, below, place, template) for place, template in made.files.items()]
    except BaseException as error:
        shutil.rmtree(folder, ignore_errors=True)
        if isinstance(error, OSError):
            raise _cannot(folder, error) from None
        raise


def _write(made: Skeleton, below: Path, place: str, template: str) -> Path:
    path = Path(made.name) / place
    (below / path).parent.mkdir(parents=True, exist_ok=True)
    (below / path).write_text(made.text(template))
    return path


def _cannot(folder: Path, error: OSError) -> UsageError:
    return UsageError(f"kernels new: {folder} cannot be made: {error.strerror}: go to a folder that can be written")

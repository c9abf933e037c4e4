"""The translation unit that bitgate writes around a user's device code, and where its errors belong."""

from __future__ import annotations

import re
from pathlib import Path

from bitgate.kernel.build.device_module import DeviceModule, module_for
from bitgate.kernel.cache.content import content_of
from bitgate.kernel.declaration import KernelFamily
from bitgate.kernel.source import is_module

CUDA_SUFFIXES = (".cu", ".cuh")


def is_cuda(family: KernelFamily) -> bool:
    """Return whether a family's sources are in CUDA, whose names other platforms need headers for."""
    return any(source.endswith(CUDA_SUFFIXES) for source in family.sources)


def unit_name(family: KernelFamily) -> str:
    return f"{family.name}_launches.hip.cpp"


def unit_text(family: KernelFamily, target: str) -> str:
    """Return the unit: the sources, or the module for a target; a table of the kernels, and the family's instances."""
    assert family.source is not None
    if is_module(family.sources):
        module = module_for(family, target)
        begin = ['#include "bitgate/module.hpp"', f"// {content_of(module.file)}"]
        begin += [f"BITGATE_MODULE_IMAGE({_quoted(str(module.file.resolve()))})"]
        kernels = [_module_kernel(module, name) for name in family.source.kernels]
    else:
        begin = ['#include "bitgate/source.hpp"', "#if __has_include(<hip/host_detail/program.hpp>)"]
        begin += ["#include <hip/host_detail/program.hpp>", "#endif"]
        begin += ["#ifdef __HIP_PLATFORM_HOST__", "#include <hip/host_detail/program_launch.hpp>", "#endif"]
        begin += ["#include <cuda_runtime.h>"] if is_cuda(family) else []
        begin += [f'#include "{source}"' for source in family.sources]
        kernels = [f"    bitgate::SourceKernel({_quoted(name)}, {name})," for name in family.source.kernels]
    instances = [
        f"static const bitgate::SourceInstance instance_{number}({_quoted(one.name)},"
        f" {_quoted(family.operations_of(one)[0])}, {one.wave_size});"
        for number, one in enumerate(family.instances)
    ]
    options = [
        f"    {{{', '.join(map(_quoted, (one.name, ','.join(one.values), one.production, one.help)))},"
        " INT64_MIN, INT64_MAX},"
        for one in family.options
    ]
    table = ["static const Option options[] = {", *options, "};"] if options else []
    return "\n".join(
        [
            *begin,
            "static const bitgate::SourceKernel listed[] = {",
            *kernels,
            "};",
            "namespace bitgate {",
            f"const SourceKernels source_kernels{{listed, {len(kernels)}}};",
            *table,
            f"const Family family{{{_quoted(family.name)}, {'options' if options else 'nullptr'}, {len(options)}}};",
            "}",
            *instances,
            "",
        ]
    )


def _module_kernel(module: DeviceModule, symbol: str) -> str:
    """Return the line of a module's kernel: its parameters, each with whether it can be a pointer, and a value."""
    parameters = module.parameters(symbol)
    described = module.described(symbol)
    listed = (
        f"{{{one.offset}, {one.size}, {_word(one.code in ('p:v0', 'x8'))}, {_word(one.code != 'p:v0')}}}"
        for one in parameters
    )
    start = "bitgate::detail::start_module"
    return f"    bitgate::SourceKernel({_quoted(symbol)}, {_quoted(described)}, {{{', '.join(listed)}}}, {start}),"


def _word(stated: bool) -> str:
    return "true" if stated else "false"


def place_errors(output: str, unit: Path, text: str) -> str:
    """Return a compiler's output with the lines of kernels in the unit's table replaced by those of the declaration.

    They are the lines of ``declaration.py`` that name the kernel; without such a file, or line, nothing is replaced.
    A name that stands for no one function is explained.
    """
    lines = text.splitlines()
    try:
        declared = (unit.parent / "declaration.py").read_text(errors="replace").splitlines()
    except OSError:
        return output

    begins = next((n for n, line in enumerate(declared, 1) if "DeviceSource(" in line), 0)

    def place(match: re.Match[str]) -> str:
        number = int(match["line"])
        named = (
            re.match(r'    bitgate::SourceKernel\("(.*?)", ', lines[number - 1]) if 0 < number <= len(lines) else None
        )
        places = [
            n for n, line in enumerate(declared, 1) if named and re.search(rf"['\"]{re.escape(named[1])}['\"]", line)
        ]
        where = next((n for n in places if n >= begins), None) or next(iter(places), None)
        if named is None or where is None:
            return match[0]
        begin = f"{unit.parent / 'declaration.py'}:{where}:"
        if "SourceKernel" not in match["said"]:
            return begin + match["said"]
        return f"{begin} error: '{named[1]}' is no one kernel: a template is named with all of its arguments"

    return re.sub(rf"[^\s:]*{re.escape(unit.name)}[:(](?P<line>\d+)(?:\)?:(?:\d+:)?|\))(?P<said>.*)", place, output)


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'

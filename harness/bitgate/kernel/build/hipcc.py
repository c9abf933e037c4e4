"""The command ``bitgate-hipcc``: compiles and links HIP programs for the host runtime, by hipcc's command line.

Each source is preprocessed, translated to C++ (``hip_translate``) and compiled. Programs and libraries are linked with
the host runtime, which they find by themselves when they start.
"""

from __future__ import annotations

import shlex
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from bitgate import __version__
from bitgate.core.errors import UsageError
from bitgate.core.project import own_kernels
from bitgate.kernel.build import flags
from bitgate.kernel.build.builder import Builder
from bitgate.kernel.build.hip_translate import translated
from bitgate.kernel.build.hipcc_advice import advice
from bitgate.kernel.build.hipcc_args import HipccWords, read_words

FAILED = 1


def run(arguments: Sequence[str]) -> int:
    """Return 0, or 1 if the compiler or the linker fails; they print why. UsageError as ``read_words``."""
    words = read_words(arguments)
    builder = Builder("host")
    if words.is_version:
        print(f"bitgate-hipcc {__version__}: HIP for the host runtime, by {builder.compiler.name}")
        return 0
    if words.asked:
        return 0 if _ran([*builder.compiler.command, *words.compiled]) else FAILED
    with TemporaryDirectory(prefix="bitgate-hipcc-") as scratch:
        return _Work(words, builder, Path(scratch)).done()


class _Work:
    """The work of one command line; the folder ``scratch`` is removed afterwards."""

    def __init__(self, words: HipccWords, builder: Builder, scratch: Path) -> None:
        self.words, self.builder, self.scratch = words, builder, scratch
        self.compiler = builder.compiler
        kind = self.compiler.kind
        self.flags = (*flags.program_standard(kind, words.standard), *flags.host_program(kind, words.race))
        self.last = flags.race_level() if words.race else ()

    def done(self) -> int:
        objects: dict[str, str] = {}
        for number, source in enumerate(self.words.sources):
            text = self._preprocessed(source, number)
            if text is None:
                return FAILED
            if self.words.mode == "-E":
                self._write(text)
                continue
            target = self._target(source, number)
            if not self._compiled(source, text, target):
                return FAILED
            objects[source] = target
        return 0 if self.words.mode or self._linked(objects) else FAILED

    def _target(self, source: str, number: int) -> str:
        if self.words.mode == "-c":
            return self.words.object_of(source)
        if self.words.mode == "-S":
            return self.words.output or Path(source).with_suffix(".s").name
        return str(self.scratch / f"{number}.o")

    def _preprocessed(self, source: str, number: int) -> str | None:
        """Return the source in C++, with markers; None if the preprocessor fails."""
        output = self.scratch / f"{number}.ii"
        platforms = own_kernels() / "platforms"
        # No system headers: the preprocessor would write a marker into each use of their macros.
        folders = [platforms / name / kind for name in ("host", "cuda") for kind in ("program", "include")]
        includes = [word for folder in folders for word in ("-I", str(folder))]
        begin = ["-include", "hip/host_detail/cxx17.hpp", "-include", "hip/host_detail/program.hpp"]
        if Path(source).suffix == ".cu":  # CUDA's compiler includes its runtime by itself
            begin += ["-include", "cuda_runtime.h", "-include", "bitgate_warps.hpp"]
        begin.append(f"-DBITGATE_HIPCC={_quoted_command()}")
        depends = self._dependencies(source, number)
        command = [*self.compiler.command, *self.flags, *self.words.compiled, *self.last, *depends, *includes, *begin]
        if not self._said([*command, "-E", "-x", "c++", source, "-o", str(output)]):
            return None
        return translated(output.read_text(errors="surrogateescape"))

    def _dependencies(self, source: str, number: int) -> list[str]:
        """Return the arguments that ``-MD`` lacks, since the preprocessor writes to another file than the object's."""
        asked = [word for word in self.words.compiled if word in ("-MD", "-MMD")]
        if not asked:
            return []
        target = Path(self._target(source, number) if self.words.mode else self.words.output or "a.out")
        named = "-MF" in self.words.compiled, "-MT" in self.words.compiled or "-MQ" in self.words.compiled
        file = [] if named[0] else ["-MF", str(target.with_suffix(".d"))]
        return [*file, *([] if named[1] else ["-MT", str(target)])]

    def _compiled(self, source: str, text: str, target: str) -> bool:
        path = self.scratch / "translated.ii"
        path.write_text(text, errors="surrogateescape")
        mode = "-S" if self.words.mode == "-S" else "-c"
        rest = _without_files(self.words.compiled)
        # zig knows no preprocessed language: the source, which has no macro left, is preprocessed once more.
        language = "c++" if self.compiler.kind == "zig" else "c++-cpp-output"
        command = [*self.compiler.command, *self.flags, *rest, *self.last, "-x", language, str(path)]
        return self._said([*command, mode, "-o", target])

    def _said(self, command: Sequence[str]) -> bool:
        """Run the compiler, and print after its errors what the host runtime has instead of what they miss."""
        colours = ["-fdiagnostics-color=always"] if sys.stderr.isatty() else []
        try:
            done = subprocess.run([*command, *colours], check=False, stderr=subprocess.PIPE)
        except OSError as error:
            raise UsageError(f"{command[0]} cannot be started: {error.strerror}") from None
        errors = done.stderr.decode(errors="replace")
        sys.stderr.write(errors)
        for line in advice(errors) if done.returncode else ():
            print(f"bitgate-hipcc: {line}", file=sys.stderr)
        return done.returncode == 0

    def _write(self, text: str) -> None:
        if self.words.output:
            Path(self.words.output).write_text(text, errors="surrogateescape")
        else:
            sys.stdout.write(text)

    def _linked(self, objects: dict[str, str]) -> bool:
        runtime = self.builder.runtime()
        parts = [objects.get(word, word) for word in self.words.linked]
        needs = [f"-L{runtime.parent}", f"-l:{runtime.name}", f"-Wl,-rpath,{runtime.parent}", "-pthread"]
        # A race flavour calls the runtime's own callbacks: the sanitizer's library is not linked.
        own = [word for word in self.flags if not word.startswith("-fsanitize")]
        output = self.words.output or "a.out"
        return _ran([*self.compiler.command, *own, *_without_files(self.words.compiled), *parts, *needs, "-o", output])


def _without_files(words: Sequence[str]) -> list[str]:
    """Remove the preprocessor's arguments: headers to be included first, dependency files, defines, folders."""
    kept, skip = [], False
    for word in words:
        if skip:
            skip = False
        elif word in (
            "-include",
            "-MF",
            "-MT",
            "-MQ",
            "-Xpreprocessor",
            "-D",
            "-U",
            "-I",
            "-isystem",
            "-iquote",
            "-idirafter",
        ):
            skip = True
        elif not word.startswith(("-M", "-D", "-U", "-I")):
            kept.append(word)
    return kept


def _quoted_command() -> str:
    """Return the command of this program as a string of C++, for programs that compile kernels while they run."""
    command = shlex.join([sys.executable, "-m", "bitgate.cli.hipcc"])
    return '"' + command.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _ran(command: Sequence[str]) -> bool:
    try:
        return subprocess.run(command, check=False).returncode == 0
    except OSError as error:
        raise UsageError(f"{command[0]} cannot be started: {error.strerror}") from None

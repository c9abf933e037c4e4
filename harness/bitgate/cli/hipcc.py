"""``bitgate-hipcc``: what a build calls in hipcc's place, so that its programs run on the host runtime."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

from bitgate.core import settings
from bitgate.core.errors import UsageError

NAME = "bitgate-hipcc"

HELP = """bitgate-hipcc [--race] ARGUMENTS OF HIPCC

Compiles HIP programs and libraries for the host runtime, by g++, clang++ or zig ($CXX decides), and links them with it:

    bitgate-hipcc -O2 saxpy.hip -o saxpy && bitgate exec ./saxpy
    cmake $(bitgate-hipcc --cmake) ...     # enable_language(HIP) and find_package(hip) work too

Launches by <<<>>> and extern __shared__ arrays are brought into C++. Words about device code (--offload-arch=...) are
left out; C++17 is the oldest standard, and the one where none is named. --race: `bitgate exec` then names races
between threads.
Exit codes: 0, 1 the compiler or the linker fails, 2 the command line.
"""


def main() -> None:
    """Entry point of the console script."""
    settings.restart_without_prompt()
    sys.exit(run(sys.argv[1:]))


def run(arguments: list[str]) -> int:
    """Compile and return the exit code; print one line for every mistake of the command line."""
    if not arguments or {"-h", "--help"} & set(arguments):
        print(HELP, end="", file=sys.stdout if arguments else sys.stderr)
        return 0 if arguments else 2
    if arguments == ["--cmake"]:
        print(f"-DCMAKE_TOOLCHAIN_FILE={_toolchain()} -DBITGATE_HIPCC={_itself()}")
        return 0
    from bitgate.kernel.build import hipcc

    if Path(os.environ.get("CXX", "").partition(" ")[0]).name == NAME:
        del os.environ["CXX"]  # cmake and make export what they were given: this program is no compiler
    try:
        settings.check()
        return hipcc.run(arguments)
    except (UsageError, OSError) as error:
        print(f"bitgate-hipcc: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("bitgate-hipcc: interrupted", file=sys.stderr)
        return 130


def _toolchain() -> Path:
    from bitgate.core.project import own_kernels

    return own_kernels() / "platforms" / "host" / "cmake" / "bitgate.cmake"


def _itself() -> str:
    """Return this program's path, as a build system starts it again."""
    found = shutil.which(NAME) or sys.argv[0]
    return str(Path(found).resolve())


if __name__ == "__main__":
    main()

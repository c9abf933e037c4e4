"""Toolchains, and the shared libraries built by them through the cache."""

from bitgate.kernel.build.builder import Builder
from bitgate.kernel.build.errors import BuildError
from bitgate.kernel.build.toolchain import Compiler, find_hip_compiler, find_host_compiler

__all__ = ["BuildError", "Builder", "Compiler", "find_hip_compiler", "find_host_compiler"]

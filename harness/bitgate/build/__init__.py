"""Toolchains, the content-hashed cache, and the shared libraries built through it."""

from bitgate.build.builder import Builder
from bitgate.build.cache import Cache
from bitgate.build.errors import BuildError
from bitgate.build.toolchain import Compiler, find_hip_compiler, find_host_compiler

__all__ = ["BuildError", "Builder", "Cache", "Compiler", "find_hip_compiler", "find_host_compiler"]

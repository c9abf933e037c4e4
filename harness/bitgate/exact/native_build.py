"""Compiles libbitgate_native into the cache until the build package does."""

from __future__ import annotations

import hashlib
import os
import subprocess
from pathlib import Path

from bitgate import rooms

_FLAGS = (
    "-std=c++20 -O3 -g1 -march=x86-64-v3 -ffp-contract=off -fno-gnu-unique -fPIC -fvisibility=hidden -Wall -Wextra"
    " -pthread -shared -Wl,-z,defs -Wl,-z,noexecstack"
).split()


def native_library() -> Path:
    here = Path(__file__).parent / "native"
    include = rooms.root() / "kernels" / "include"
    sources = sorted(here.glob("*.cpp"))
    key = hashlib.sha256(" ".join(_FLAGS).encode())
    for path in sorted(here.iterdir()) + [include / "bitgate" / "counter.hpp", include / "bitgate" / "abi.h"]:
        key.update(path.read_bytes())
    target = rooms.cache_dir() / "build" / f"native-{key.hexdigest()[:16]}" / "libbitgate_native.so"
    if not target.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        temporary = target.with_suffix(f".{os.getpid()}")
        objects = []
        for source in sources:
            output = target.parent / f"{source.stem}.{os.getpid()}.o"
            objects.append(str(output))
            flags = [f for f in _FLAGS if f != "-shared" and not f.startswith("-Wl")]
            subprocess.run(["g++", *flags, f"-I{include}", "-c", "-o", str(output), str(source)], check=True)
        subprocess.run(["g++", *_FLAGS, "-o", str(temporary), *objects], check=True)
        temporary.replace(target)
    return target

"""The line of a compiler's output that is read first: it is about the user's source."""

from __future__ import annotations

import pytest

from bitgate.kernel.build.errors import first_error

GNU = """\
In file included from /b/kernels/include/bitgate/library.hpp:7,
                 from /u/mine/mine.hip.cpp:4:
/b/kernels/include/bitgate/launch.hpp: In instantiation of 'bool bitgate::launch(bitgate::Context&, ...)':
/u/mine/mine.hip.cpp:63:18:   required from here
/b/kernels/include/bitgate/launch.hpp:152:34: error: static assertion failed: the kernel takes another number
/b/kernels/include/bitgate/launch.hpp:152:34: note: the comparison reduces to '(4 == 3)'
"""
CLANG = """\
/b/kernels/include/bitgate/launch.hpp:152:17: error: static assertion failed due to requirement: takes another number
  152 |   static_assert(sizeof...(Params) == sizeof...(Args), "the kernel takes another number of arguments");
/u/mine/mine.hip.cpp:63:12: note: in instantiation of function template specialization 'bitgate::launch' requested here
"""
NVCC = """\
/b/kernels/include/bitgate/launch.hpp(152): error: static assertion failed with "the kernel takes another number"
    static_assert(sizeof...(Params) == sizeof...(Args), "the kernel takes another number");
          detected during instantiation of "bool bitgate::launch(...)" at line 63 of /u/mine/mine.hip.cpp
"""


@pytest.mark.parametrize("output", [GNU, CLANG, NVCC], ids=["gnu", "clang", "nvcc"])
def test_a_wrong_launch_is_put_to_the_users_line(output: str) -> None:
    said = first_error(output)
    assert said.startswith("/u/mine/mine.hip.cpp:63: error: static assertion failed"), said
    assert "takes another number" in said


def test_an_error_of_the_source_itself_stays_as_it_is() -> None:
    line = "/u/mine/mine.hip.cpp:9:3: error: 'x' was not declared in this scope"
    assert first_error(f"{line}\n{GNU}") == line


def test_an_error_in_a_header_without_a_caller_stays_as_it_is() -> None:
    line = "/b/kernels/include/bitgate/launch.hpp:9:3: error: expected ';'"
    assert first_error(line) == line


@pytest.mark.parametrize("line", ["ld: undefined reference to 'f'", "cannot find -lmine"])
def test_a_linker_is_understood_too(line: str) -> None:
    assert first_error(f"collect2: error: ld returned 1\n{line}\n") == line

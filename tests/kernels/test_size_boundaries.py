"""At 2^31 elements, bytes and strides, one below and one above: what C++ says of a problem, and what Python says.

No memory is allocated; is_supported looks at numbers only. Where a product is kept in 32 bits, or is compared with <
instead of <=, the two part here.
"""

from __future__ import annotations

import pytest

from bitgate.kernel.registry import families
from bitgate.model import Problem, Tensor, parse_case_id
from bitgate.ops.convolution import Pass

TWO_31 = 2**31

# 2^31 - 1 is prime, so only a single length reaches it; 2^31 + 1 = 3 * 715827883; 2^32 + 1 = 641 * 6700417.
SHAPES = (
    # (shape, layouts) in elements of x: one below, at and above 2^31 ...
    ("n1k1c1_y1_h2147483647", ("nwgc",)),
    ("n1k1c1_y1_h2147483647_s1024", ("nwgc", "gnwc")),
    ("n2k8c8_y1_h134217728_s1024", ("nwgc",)),
    ("g3n1k1c1_y1_h715827883_s1024", ("nwgc", "gnwc")),
    ("n3k1c1_y1_h715827883_s1024", ("nwgc", "gnwc")),
    ("n1k8c8_y1x1_h16384x16383_s128", ("nhwgc",)),
    ("n1k8c8_y1x1_h16384x16384_s128", ("nhwgc", "gnhwc")),
    ("n1k8c8_y1x1_h16384x16385_s128", ("nhwgc",)),
    ("n1k8c8_y2x2_h16384x16384_s128_p1", ("nhwgc",)),
    ("n1k8c8_y1x1x1_h64x2048x2048_s1x64x64", ("ndhwgc",)),
    ("n1k8c8_y1x1x1_h64x2048x2049_s1x64x64", ("ndhwgc", "gndhwc")),
    # ... of y, where x is as large ...
    ("n2k64c8_y1x1_h4096x4096", ("nhwgc",)),
    ("n1k64c8_y1x1_h4096x8191", ("nhwgc",)),
    ("n1k64c8_y1x1_h4096x8192", ("nhwgc", "gnhwc")),
    ("n1k64c8_y1x1_h4096x8193", ("nhwgc",)),
    ("n1k1c1_y1x1_h46341x46341", ("nhwgc",)),
    ("n1k1c1_y1x1_h46340x46340", ("nhwgc",)),
    # ... of w ...
    ("n1k65536c32760_y1x1_h1x1", ("nhwgc",)),
    ("n1k65536c32768_y1x1_h1x1", ("nhwgc",)),
    ("n1k65536c32776_y1x1_h1x1", ("nhwgc",)),
    ("n1k32768c8192_y2x4_h4x4", ("nhwgc",)),
    # ... in bytes of 16-bit and 32-bit types: 2^30 and 2^29 elements ...
    ("n1k8c8_y1x1_h8192x16383_s128", ("nhwgc",)),
    ("n1k8c8_y1x1_h8192x16384_s128", ("nhwgc",)),
    ("n1k8c8_y1x1_h8192x16385_s128", ("nhwgc",)),
    ("n1k8c8_y1x1_h8192x8192_s128", ("nhwgc",)),
    ("n1k8c8_y1x1_h8192x8193_s128", ("nhwgc",)),
    ("n4k8c8_y1x1_h8192x8192_s128", ("nhwgc", "gnhwc")),
    # ... strides of images and groups ...
    ("g2n2k8c8_y1x1_h8192x16384_s128", ("nhwgc", "gnhwc")),
    ("g2n2k8c8_y1x1_h16384x16384_s128", ("nhwgc", "gnhwc")),
    ("g2n2k8c8_y1x1_h16384x16385_s128", ("nhwgc", "gnhwc")),
    # ... coordinates, and what lies beyond 2^32.
    ("n1k1c1_y1_h1073741823_s1024", ("nwgc",)),
    ("n1k1c1_y1_h1073741824_s1024", ("nwgc",)),
    ("n1k1c1_y1_h1073741825_s1024", ("nwgc",)),
    ("n1k1c1_y1_h1073741823_s1024_p1", ("nwgc",)),
    ("n1k1c1_y1_h1073741824_s1024_p1", ("nwgc",)),
    ("n1073741823k1c1_y1_h1", ("nwgc",)),
    ("n1073741824k1c1_y1_h1", ("nwgc",)),
    ("n1073741825k1c1_y1_h1", ("nwgc",)),
    ("n2147483647k1c1_y1_h1", ("nwgc",)),  # as many images as have no divisor, beyond the threshold of split-N
    ("n1073741789k1c1_y1_h5_s5", ("nwgc", "gnwc")),
    ("n1k1073741824c1_y1_h1", ("nwgc",)),
    ("n1k1073741825c1_y1_h1", ("nwgc",)),
    ("n1k1c1073741824_y1_h1", ("nwgc",)),
    ("n1k1c1073741825_y1_h1", ("nwgc",)),
    ("g65535n1k8c8_y1_h8", ("nwgc",)),
    ("g65536n1k8c8_y1_h8", ("nwgc",)),
    ("n641k8c8_y1_h6700417_s1024", ("nwgc",)),
)
GEMMS = (
    "b1m65536n32760k8",
    "b1m65536n32768k8",
    "b1m65536n32776k8",
    "b1m8n65536k32768",
    "b1m65536n8k32776",
    "b2m32768n32768k8",
    "b1m2147483647n1k1",
    "b1m1073741824n8k8",
    "b1m8n1073741824k8",
    "b1m8n8k1073741824",
    "b1m8n8k1073741832",
    "b65535m8n8k8",
    "b65536m8n8k8",
)


REDUCTIONS = tuple(
    f"{shape}_{kind}{split}"
    for shape in (
        "o2147483647l1i1",
        "o1l2147483647i1",
        "o1l1i2147483647",
        "o1073741824l2i1",
        "o2l1073741824i1",
        "o1l1073741824i2",
        "o1l1073741825i1",
        "o16777216l256i1",
        "o65535l65537i1",
        "o65536l65536i1",
    )
    for kind in ("sum", "max", "argmax")
    for split in ("", "_sk2", "_sk65536", "_skauto")
)


EXTENTS = (2, 3, 65535, 65536, 1073741824, 2147483647)
ROWS = [f"r{rows}c{columns}" for rows in EXTENTS for columns in EXTENTS]
HEADS = [
    f"b{b}h{b}kv1s{s}t{t}d{d}" for b in (1, 32768, 65536) for s in EXTENTS for t in EXTENTS for d in (64, 256, 65536)
]


def problems(operation: str, dtypes: str) -> list[Problem]:
    if operation in ("softmax", "layernorm", "rmsnorm"):
        return [parse_case_id(f"{operation}_{dtypes}_{size}") for size in ROWS]
    if operation in ("attention", "attention_bwd"):
        return [parse_case_id(f"{operation}_{dtypes}_{size}") for size in HEADS]
    if operation == "reduction":
        return [parse_case_id(f"reduction_{dtypes.partition('_')[0]}_{case}") for case in REDUCTIONS]
    if operation == "gemm":
        return [parse_case_id(f"gemm_{dtypes}_{layout}_{size}") for size in GEMMS for layout in ("rcr", "rrr", "ccr")]
    return [parse_case_id(f"{operation}_{dtypes}_{layout}_{shape}") for shape, layouts in SHAPES for layout in layouts]


def test_the_list_has_each_side_of_each_boundary() -> None:
    tensors = [tensor for case in problems(Pass.FWD, "f16") for tensor in case.tensors.values()]
    for boundary in (TWO_31, 2**30):  # elements; bytes of f16 are twice as many
        for side in (lambda n, b: 0.99 * b < n < b, lambda n, b: n == b, lambda n, b: b < n < 1.01 * b):
            for name in ("in", "wei", "out"):
                assert name == "wei" or any(side(t.elements, boundary) for t in tensors if t.name == name), boundary
    assert any(_largest_stride(tensor) == TWO_31 for tensor in tensors)
    assert any(_largest_stride(tensor) > TWO_31 for tensor in tensors)


def _largest_stride(tensor: Tensor) -> int:
    return max(stride for length, stride in zip(tensor.lengths, tensor.strides, strict=True) if length > 1 or stride)


@pytest.mark.parametrize("name", [name for name, family in families().items() if not family.is_probe])
def test_library_and_declaration_agree(bench, name):
    family = families()[name]
    library = bench.library(family)
    production = {option.name: option.production for option in family.options}
    asked, apart = 0, []
    for instance in family.instances:
        for operation in family.operations_of(instance):
            for problem in problems(operation, instance.dtypes[0]):
                declared, answered = (
                    family.supports(problem, instance, production),
                    library.is_supported(problem, instance),
                )
                asked += 1
                if (declared and declared.clause) != (answered and answered.clause):
                    apart.append((instance.name, problem, declared, answered))
    assert asked > 100
    assert apart[:3] == []

"""Tensors beyond 2 GiB give the right bits; and what verifies them does so on small tensors too."""

from dataclasses import replace

from bitgate.testing import cases, verified

test_bits = verified("large")
test_reductions = verified("large#reduction")


@cases("large#naive")
def test_naive_kernels(planned, check):
    verdict = check(planned)
    assert verdict.reference == "checksum"


@cases("large#gpu_reference")
def test_against_the_device(planned, check):
    verdict = check(replace(planned, reference="gpu"))
    assert verdict.reference == "gpu"


@cases("large#checksum")
def test_against_the_identity(planned, check):
    verdict = check(replace(planned, reference="checksum"))
    assert verdict.reference == "checksum"

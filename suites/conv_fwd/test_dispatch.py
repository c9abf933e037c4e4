"""The right bits by the right way: the path of the specialisation, one launch, and the chunks that split-N makes."""

from bitgate.plugin import cases


@cases("conv_fwd#dispatch")
def test_dispatch(planned, row, gate):
    ran = gate(planned).dispatch

    assert {name: ran[name] for name in row.dispatch} == row.dispatch

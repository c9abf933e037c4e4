"""MIOpenDriver's options as its own parser reads them."""

from __future__ import annotations

import re

import pytest

from bitgate.interop import found_in_case, parse_foreign, perf_of
from bitgate.model import ProblemError, case_id, parse_case_id

SIZES = "-n 1 -c 8 -k 8 -H 9 -W 9 -F 1"
PLAIN = "fwd_f32_ngchw_gkcyx_g1n1k8c8_y3_h9"


@pytest.mark.parametrize(
    ("words", "case"),
    [
        (f"convfp32 {SIZES}", PLAIN),
        # what today's driver knows beside the older one's options, at its defaults
        (f"conv {SIZES} -U -1 -R -1 -T -1 --math_type 1", PLAIN),
        (f"conv {SIZES} -N 1 -& 2 -~ 1 -J 1 -G 0 --use_hip_graph 0", PLAIN),
        (f"conv {SIZES} -g 0", PLAIN),
        # pads by mode: half of what is missing; none; any other leaves them
        (f"conv {SIZES} -z same", f"{PLAIN}_p1"),
        (f"conv {SIZES} -u 2 -v 3 -x 5 --pad_mode same", "fwd_f32_ngchw_gkcyx_g1n1k8c8_y3x5_h9_s2x3_p1x1"),
        (f"conv {SIZES} -p 1 -q 1 -z valid", PLAIN),
        (f"conv {SIZES} -p 1 -q 1 -z default", f"{PLAIN}_p1"),
        (f"conv {SIZES} -p 1 -q 1 -l 2 -j 2 -z same", f"{PLAIN}_d2_p1"),
        # as the library's log prints 3D problems
        (
            "convbfp16 -n 2 -c 4 --in_d 5 -H 6 -W 7 -k 8 --fil_d 3 -y 1 -x 2 --pad_d 1 -p 0 -q 1 --conv_stride_d 2 -u 1"
            " -v 1 --dilation_d 1 -l 1 -j 1 --spatial_dim 3 --in_layout NDHWC --fil_layout NDHWC --out_layout NDHWC"
            " -m conv -g 2 -F 4 -t 1 -S 85",
            "bwd_weight_bf16_ndhwgc_g2n2k4c2_y3x1x2_h5x6x7_s2x1x1_p1x0x1",
        ),
    ],
)
def test_understood(words, case):
    (problem,) = parse_foreign(f"MIOpenDriver {words}")
    assert case_id(problem) == case_id(parse_case_id(case))


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        # its parser looks at the one letter after the dash: this would be a bias
        (
            f"conv {SIZES} -batchsize 4",
            "'-batchsize': one dash takes one letter, -b (--bias) is what MIOpenDriver reads",
        ),
        (f"conv {SIZES} -n4", "'-n4': one dash takes one letter, -n (--batchsize)"),
        (f"conv {SIZES} ---n 4", "option '---n' is not understood"),
        (f"conv {SIZES} - 4", "option '-' is not understood"),
        (f"convfp16 {SIZES} -U fp8", "--in_cast_type fp8: compute types are not understood"),
        (f"conv {SIZES} --out_cast_type bf16", "--out_cast_type bf16: compute types"),
        (f"conv {SIZES} -M 0", "--math_type 0: products in tf32 are not understood"),
        (f"conv {SIZES} -m trans", "--mode trans: conv is understood, transposed convolutions (trans) are not"),
        (f"conv {SIZES} -z same -u 0", "stride[0] = 0 is outside 1.."),
        (f"conv {SIZES} -I CHWN -O CHWN", "--in_layout chwn is not understood"),
    ],
)
def test_refused(words, reason):
    with pytest.raises(ProblemError, match=re.escape(reason)):
        parse_foreign(f"MIOpenDriver {words}")


def test_what_chooses_a_solution_or_data_is_told_when_timed():
    (entry,) = found_in_case(f"MIOpenDriver conv {SIZES} -S 85 -d images.bin --dout_data dy.bin -t 1")
    assert perf_of(entry).notes == (
        "a solution is chosen by its number in MIOpen (--solution): here all are timed",
        "files of data (--in_data, --dout_data) are not read: the data are bitgate's own",
    )
    (entry,) = found_in_case(f"MIOpenDriver conv {SIZES} -S -1 -t 1")
    assert perf_of(entry).notes == ()

"""A bundle does not reveal who ran it, where, and on which piece of hardware."""

from __future__ import annotations

import ipaddress
import json
import string
import uuid

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from bitgate.lab.bringup.identity import scrubber_of_this_machine
from bitgate.lab.bringup.scrub import GENERIC, Scrubber

SCRUBBER = Scrubber(
    users=("ada.l", "root", "jo"),
    hosts=("node7.lab.example.org", "node7", "vm"),
    folders=(("/data/homes/ada.l", "~"), ("/data/homes/ada.l/src/bitgate", "<bitgate>"), ("/tmp", "<tmp>")),
)


@pytest.mark.parametrize(
    ("text", "scrubbed"),
    [
        ("/data/homes/ada.l/src/bitgate/kernels/a.hpp:3: error", "<bitgate>/kernels/a.hpp:3: error"),
        ("-I/data/homes/ada.l/.cache -o /tmp/x.so", "-I~/.cache -o <tmp>/x.so"),
        ("/tmpfs and /data/homes/ada.lovelace stay apart", "/tmpfs and /data/homes/ada.lovelace stay apart"),
        ("/home/grace/x.co, /Users/Grace H/y", "/home/USER/x.co, /Users/USER H/y"),
        ("ADA.L@node7: node7.lab.example.org said", "USER@HOST: HOST said"),
        ("core_ada.l-1 of job_node7", "core_USER-1 of job_HOST"),
        ("root and jo are too short, or words: root", "root and jo are too short, or words: root"),
        ('{"host": "vm", "user":"jo"}', '{"host": "HOST", "user":"USER"}'),
        ("eth0 10.12.0.7/24, [fe80::1ff:fe23:4567:890a]:22", "eth0 IP/24, [IP]:22"),
        ("127.0.0.1 and ::1 are everybody's", "127.0.0.1 and ::1 are everybody's"),
        ("driver 580.65.06, ROCm 6.4.43482, g++ 12.2.0", "driver 580.65.06, ROCm 6.4.43482, g++ 12.2.0"),
        (
            "0000:c1:00.0 at 12:34:56 on 2026-11-22T12:34:56+00:00",
            "0000:c1:00.0 at 12:34:56 on 2026-11-22T12:34:56+00:00",
        ),
        ("std::vector<f16>::add, gfx942:sramecc+:xnack-", "std::vector<f16>::add, gfx942:sramecc+:xnack-"),
        ("link/ether 0c:42:a1:5b:ff:03 brd", "link/ether MAC brd"),
        ("GPU-1b2c3d4e-0a1b-4c5d-8e9f-001122334455 MIG", "GPU-UUID MIG"),
        ("rocm GPU-8d7c6b5a4f3e2d1c", "rocm GPU-UUID"),
        ("Serial Number: 1651922000123, unique_id=0x8d7c6b5a", "Serial Number: SERIAL, unique_id=SERIAL"),
        ("NVRM: GPU at PCI:0000:41:00: serial is fine", "NVRM: GPU at PCI:0000:41:00: serial is fine"),
        ("mail ada@example.org about hipMalloc@hip_4.2", "mail MAIL about hipMalloc@hip_4.2"),
    ],
)
def test_what_stands_for_what(text: str, scrubbed: str) -> None:
    assert SCRUBBER.text(text) == scrubbed


# Names as machines allow them, that are no word of a report.
names = st.text(string.ascii_letters + string.digits + "_-.", min_size=4, max_size=16).filter(
    lambda name: name.strip("._-") == name and any(c.isalpha() for c in name) and name.lower() not in GENERIC
)
around = st.text(st.characters(blacklist_categories=("Cs", "L", "N")), max_size=12)
texts = st.text(max_size=60)


@given(names, around, around, texts)
def test_no_user_and_no_home_is_left(user: str, before: str, after: str, rest: str) -> None:
    """A placeholder may spell a name, as ``USER`` does for a user called so: that reveals nothing."""
    assume(user.lower() not in "~ home user host mail ip mac uuid gpu-uuid serial left".lower())
    scrubber = Scrubber(users=(user,), folders=((f"/nfs/{user}", "~"),))
    said = scrubber.text(f"{rest} {before}{user}{after} /nfs/{user}/x /scratch/{user}/y /home/{user}/z")
    assert f"/{user}/" not in said.replace("/USER/", "")
    if user.lower() not in rest.lower():
        assert user.lower() not in said.lower().replace("mail", "").replace("user", "") or user.lower() in (
            "mail",
            "user",
        )


@given(st.ip_addresses(), around)
def test_no_address_is_left(address: ipaddress.IPv4Address | ipaddress.IPv6Address, before: str) -> None:
    assume(not address.is_loopback and not str(address).startswith("::"))
    assume(not address.is_unspecified)
    assume(not before or before[-1] not in ":.")
    assert str(address) not in Scrubber().text(f"{before}{address} end")


@given(st.uuids(), st.binary(min_size=6, max_size=6), st.sampled_from(":-"))
def test_no_hardware_is_told(one: uuid.UUID, mac: bytes, between: str) -> None:
    said = Scrubber().text(f"GPU-{one} {mac.hex(between)} Serial: {one.hex}")
    assert str(one) not in said
    assert mac.hex(between) not in said
    assert one.hex not in said


documents = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text() | names | st.ip_addresses().map(str) | st.uuids().map(str),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text() | st.just("serial"), inner, max_size=3),
    max_leaves=8,
)


@given(documents, names, st.booleans())
def test_json_stays_json(document: object, user: str, escaped: bool) -> None:
    scrubber = Scrubber(users=(user,), hosts=("vm",), folders=((f"/nfs/{user}", "~"),))
    text = json.dumps({"serial": document, "where": f"/nfs/{user}/a", "host": "vm"}, ensure_ascii=escaped)
    assert json.loads(scrubber.text(text))["host"] == "HOST"


@given(texts, names)
def test_scrubbing_twice_changes_nothing_more(text: str, user: str) -> None:
    scrubber = Scrubber(users=(user,), hosts=("node7",), folders=((f"/nfs/{user}", "~"),))
    once = scrubber.text(f"{text} /nfs/{user} {user} 10.1.2.3 a@b.cd")
    assert scrubber.text(once) == once


def test_a_name_beyond_ascii_is_found_in_json_too() -> None:
    scrubber = Scrubber(users=("müller",), folders=(("/nfs/müller", "~"),))
    text = json.dumps({"path": "/nfs/müller/x", "by": "müller"})
    assert json.loads(scrubber.text(text)) == {"path": "~/x", "by": "USER"}


def test_bytes_that_tell_a_name_are_found_out() -> None:
    assert SCRUBBER.reveals(b"\x7fELF..ada.l..") == "a user name"
    assert SCRUBBER.reveals(b"..node7..") == "the host's name"
    assert SCRUBBER.reveals(b"../tmp/x.cpp..") == "a path of this machine"
    assert SCRUBBER.reveals(b"nothing") == ""
    assert Scrubber(users=("ada",)).reveals(b"..ada..") == ""  # three bytes may be a number's
    assert Scrubber(users=("ada",)).reveals(b"/scratch/ada/x.cpp") == "a path of this machine"


def test_this_machine_s_own_home_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/nfs/homes/turing")
    monkeypatch.setenv("USER", "turing")
    monkeypatch.setenv("HOSTNAME", "bletchley.example.org")
    said = scrubber_of_this_machine().text("/nfs/homes/turing/x of turing on bletchley or bletchley.example.org")
    assert said == "~/x of USER on HOST or HOST"

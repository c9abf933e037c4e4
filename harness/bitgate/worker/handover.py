"""The handing over of descriptors to a child under another program, which may not let it inherit any.

The parent listens on a socket that the child's command line names. Who connects must bear the child's token: others of
the same user could take its channel. A child's numbers of descriptors are other ones than its parent's (``own``).
"""

from __future__ import annotations

import os
import secrets
import socket
import struct
import threading
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

SECONDS = 600.0
"""Time for a child to start under its program, such as an emulator that reads its description of a GPU."""
_MOST = 16
_PEER = struct.Struct("=3i")

_own: dict[int, int] = {}


class Handover:
    """A socket on which one child, known by an entry of its environment, fetches these descriptors."""

    def __init__(self, descriptors: Sequence[int], mark: bytes) -> None:
        self.name = f"bitgate-{secrets.token_hex(16)}"
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._listener.bind(f"\0{self.name}")
        self._listener.listen(4)
        self._listener.settimeout(SECONDS)
        kept = [os.dup(one) for one in descriptors]
        threading.Thread(target=self._serve, args=(descriptors, kept, mark), daemon=True).start()

    def _serve(self, numbers: Sequence[int], kept: Sequence[int], mark: bytes) -> None:
        with self._listener, suppress(OSError):
            while True:
                peer, _ = self._listener.accept()
                with peer, suppress(OSError):
                    if mark in _environment_of(peer):
                        socket.send_fds(peer, [",".join(map(str, numbers)).encode()], list(kept))
                        break
        for one in kept:
            os.close(one)

    def close(self) -> None:
        """Stop listening: no child will come any more."""
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)


def fetched(name: str) -> list[int]:
    """Return this process' numbers of the channel's two descriptors, having fetched all from the parent's socket."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as connection:
        connection.connect(f"\0{name.removeprefix('@')}")
        data, descriptors, _, _ = socket.recv_fds(connection, 4096, _MOST)
    numbers = [int(number) for number in data.split(b",")]
    _own.update(zip(numbers, descriptors, strict=True))
    return descriptors[:2]


def own(number: int) -> int:
    """Return this process' number of a descriptor that the parent knows by ``number``."""
    return _own.get(number, number)


def _environment_of(peer: socket.socket) -> list[bytes]:
    pid, _, _ = _PEER.unpack(peer.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _PEER.size))
    return Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")

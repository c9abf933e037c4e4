"""Text files as editors, shells and logs leave them."""

from __future__ import annotations

import codecs
import re

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_COLOUR = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_CONTROL = re.compile("[\x00-\x08\x0e-\x1f\x7f]")


def decoded(data: bytes) -> str:
    """Decode a text by its byte order mark (a redirection in PowerShell writes UTF-16), else as UTF-8.

    Colours are left out. Bytes that are no text become U+FFFD, control characters too: a refusal quotes them to a
    terminal.
    """
    mark, encoding = next(((mark, name) for mark, name in _MARKS if data.startswith(mark)), (b"", "utf-8"))
    text = data[len(mark) :].decode(encoding, errors="replace")
    return _CONTROL.sub("\ufffd", _COLOUR.sub("", text))

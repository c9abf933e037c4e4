"""The child's side of typed messages: each request is a tagged Struct, and has a handler."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial, reduce
from operator import or_
from typing import Any

from msgspec import Struct, json

from bitgate.worker.channel import Channel


class Message(Struct, tag_field="ask", tag=True):
    """A question to a child; its class says what is asked."""


Handlers = Mapping[type[Message], Callable[[Any], Any]]
"""The function that answers each kind of message, with a Struct or a value of JSON."""


def serve(channel: Channel, handlers: Handlers) -> None:
    """Answer until the parent has no more questions."""
    kinds: Any = reduce(or_, handlers)
    decoder, channel.encode = json.Decoder(kinds), json.encode

    def answer(line: bytes) -> Any:
        message = decoder.decode(line)
        channel.begins()
        return handlers[type(message)](message)

    while (line := channel.next_line()) is not None:
        channel.reply(partial(answer, line))

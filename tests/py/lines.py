"""The line protocol of the test clients: reads one JSON command a line on stdin and answers each with
one JSON line on stdout, in the words of tests/js/client.mjs."""

import asyncio
import json
import os
import sys

# Some libraries log to standard output.
OUTPUT = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)


def say(message) -> None:
    OUTPUT.write(json.dumps(message) + "\n")
    OUTPUT.flush()


def seconds(command) -> float:
    """The time-out that a client is set to by a command."""
    return command.get("timeoutMs", 60_000) / 1000


def dump(model):
    """The JSON of a message of the SDK, of either version."""
    return model.model_dump(mode="json", by_alias=True, exclude_none=True)


async def answer(driver, command) -> None:
    name = command["id"] if command["op"] == "call" else command["op"]
    try:
        say({"id": name, "result": await getattr(driver, command["op"])(command)})
    except asyncio.CancelledError:
        say({"id": name, "error": {"code": None, "message": "cancelled"}})
    except BaseException as error:  # the other end judges; nothing may be swallowed
        leaf = error
        while isinstance(leaf, BaseExceptionGroup):
            leaf = leaf.exceptions[0]
        code = getattr(getattr(leaf, "error", None), "code", None)
        say({"id": name, "error": {"code": code, "message": str(leaf)}})


async def run(driver) -> None:
    """Lets a driver carry out the commands. Its `calls` are the tasks of the calls in flight."""
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    while line := await reader.readline():
        command = json.loads(line)
        if command["op"] == "call":
            task = asyncio.ensure_future(answer(driver, command))
            driver.calls[command["id"]] = task
        else:
            await answer(driver, command)
        if command["op"] == "close":
            return

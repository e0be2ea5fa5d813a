"""A real MCP client (the Python SDK) on strings.

Reads one JSON command a line on stdin and answers each with one JSON line on stdout, in the words
of tests/js/client.mjs.
"""

import asyncio
import json
import sys
from contextlib import AsyncExitStack

import httpx2
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client


class Driver:
    def __init__(self) -> None:
        self.stack = AsyncExitStack()
        self.client = None
        self.calls = {}

    async def connect(self, command):
        headers = {} if command["token"] is None else {"Authorization": f"Bearer {command['token']}"}
        http = await self.stack.enter_async_context(httpx2.AsyncClient(headers=headers, timeout=120))
        mode = command["revision"] if command["revision"] == "2026-07-28" else "legacy"
        transport = streamable_http_client(command["url"], http_client=http)
        self.client = await self.stack.enter_async_context(Client(transport, mode=mode))
        info = self.client.server_info
        return {"protocol": self.client.protocol_version, "server": info.name if info else None}

    async def list(self, _command):
        tools = (await self.client.list_tools()).tools
        return {"tools": [tool.model_dump(mode="json", by_alias=True, exclude_none=True) for tool in tools]}

    async def call(self, command):
        async def progress(value, total, message):
            say({"progressOf": command["id"], "progress": value, "total": total, "message": message})

        result = await self.client.call_tool(
            command["name"],
            command.get("arguments"),
            read_timeout_seconds=command.get("timeoutMs", 60_000) / 1000,
            progress_callback=progress if command.get("progress") else None,
        )
        return result.model_dump(mode="json", by_alias=True, exclude_none=True)

    async def cancel(self, command):
        task = self.calls.get(command["id"])
        if task:
            task.cancel()
        return {}

    async def close(self, _command):
        await self.stack.aclose()
        return {}


def say(message) -> None:
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


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


async def main() -> None:
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    driver = Driver()
    while line := await reader.readline():
        command = json.loads(line)
        if command["op"] == "call":
            task = asyncio.ensure_future(answer(driver, command))
            driver.calls[command["id"]] = task
        else:
            await answer(driver, command)
        if command["op"] == "close":
            return


asyncio.run(main())

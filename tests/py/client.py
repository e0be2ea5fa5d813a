"""A real MCP client (the Python SDK) on strings; see lines.py."""

import asyncio
from contextlib import AsyncExitStack

import httpx2
from lines import dump, run, say, seconds
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client


class Driver:
    def __init__(self) -> None:
        self.stack = AsyncExitStack()
        self.client = None
        self.calls = {}

    async def connect(self, command):
        mode = command["revision"] if command["revision"] == "2026-07-28" else "legacy"
        if program := command.get("command"):
            server = StdioServerParameters(
                command=program["program"], args=program["arguments"], env=program["environment"]
            )
            transport = stdio_client(server)
        else:
            headers = {} if command["token"] is None else {"Authorization": f"Bearer {command['token']}"}
            http = await self.stack.enter_async_context(httpx2.AsyncClient(headers=headers, timeout=120))
            transport = streamable_http_client(command["url"], http_client=http)
        self.client = await self.stack.enter_async_context(Client(transport, mode=mode))
        info = self.client.server_info
        return {"protocol": self.client.protocol_version, "server": info.name if info else None}

    async def list(self, _command):
        return {"tools": [dump(tool) for tool in (await self.client.list_tools()).tools]}

    async def call(self, command):
        async def progress(value, total, message):
            say({"progressOf": command["id"], "progress": value, "total": total, "message": message})

        result = await self.client.call_tool(
            command["name"],
            command.get("arguments"),
            read_timeout_seconds=seconds(command),
            progress_callback=progress if command.get("progress") else None,
        )
        return dump(result)

    async def cancel(self, command):
        task = self.calls.get(command["id"])
        if task:
            task.cancel()
        return {}

    async def close(self, _command):
        await self.stack.aclose()
        return {}


asyncio.run(run(Driver()))

"""A real MCP client (the Python SDK before version 2, in sessions) on strings; see lines.py."""

import asyncio
from contextlib import AsyncExitStack
from datetime import timedelta

import httpx
from lines import dump, run, seconds
from mcp import ClientSession, StdioServerParameters, types
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client


class Driver:
    def __init__(self) -> None:
        self.stack = AsyncExitStack()
        self.session = None
        self.calls = {}

    async def connect(self, command):
        if program := command.get("command"):
            server = StdioServerParameters(
                command=program["program"], args=program["arguments"], env=program["environment"]
            )
            transport = stdio_client(server)
        else:
            headers = {} if command["token"] is None else {"Authorization": f"Bearer {command['token']}"}
            http = await self.stack.enter_async_context(httpx.AsyncClient(headers=headers, timeout=120))
            transport = streamable_http_client(command["url"], http_client=http)
        read, write, *_ = await self.stack.enter_async_context(transport)
        name = types.Implementation(name="sdk-py1", version="1.0.0")
        self.session = await self.stack.enter_async_context(ClientSession(read, write, client_info=name))
        opened = await self.session.initialize()
        return {"protocol": opened.protocolVersion, "server": opened.serverInfo.name}

    async def list(self, _command):
        return {"tools": [dump(tool) for tool in (await self.session.list_tools()).tools]}

    async def call(self, command):
        result = await self.session.call_tool(
            command["name"],
            command.get("arguments"),
            read_timeout_seconds=timedelta(seconds=seconds(command)),
        )
        return dump(result)

    async def close(self, _command):
        await self.stack.aclose()
        return {}


asyncio.run(run(Driver()))

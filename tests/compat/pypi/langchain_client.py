"""langchain-mcp-adapters, with the tools of one session. See tests/py/lines.py."""

import asyncio
from contextlib import AsyncExitStack
from datetime import timedelta

from langchain_mcp_adapters.client import MultiServerMCPClient
from langchain_mcp_adapters.tools import load_mcp_tools
from lines import run, seconds


class Driver:
    def __init__(self) -> None:
        self.stack = AsyncExitStack()
        self.session = None
        self.tools = {}
        self.calls = {}

    async def connect(self, command):
        settings = {"session_kwargs": {"read_timeout_seconds": timedelta(seconds=seconds(command))}}
        if program := command.get("command"):
            connection = {
                "transport": "stdio",
                "command": program["program"],
                "args": program["arguments"],
                "env": program["environment"],
            }
        else:
            headers = {"Authorization": f"Bearer {command['token']}"}
            connection = {"transport": "streamable_http", "url": command["url"], "headers": headers}
        client = MultiServerMCPClient({"gatehouse": connection | settings})
        self.session = await self.stack.enter_async_context(client.session("gatehouse"))
        return {}

    async def load(self):
        self.tools = {tool.name: tool for tool in await load_mcp_tools(self.session)}

    async def list(self, _command):
        await self.load()
        return {"tools": [{"name": name} for name in self.tools]}

    async def call(self, command):
        if not self.tools:
            await self.load()
        request = {
            "type": "tool_call",
            "id": command["id"],
            "name": command["name"],
            "args": command["arguments"],
        }
        message = await self.tools[command["name"]].ainvoke(request)
        content = message.content
        if isinstance(content, str):
            content = [{"type": "text", "text": content}]
        return {"content": content, "isError": message.status == "error"}

    async def close(self, _command):
        await self.stack.aclose()
        return {}


asyncio.run(run(Driver()))

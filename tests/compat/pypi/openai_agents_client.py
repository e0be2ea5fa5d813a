"""The servers of openai-agents, as an agent of it uses them. See tests/py/lines.py."""

import asyncio
from contextlib import AsyncExitStack

from agents.mcp import MCPServerStdio, MCPServerStreamableHttp
from lines import dump, run, seconds


class Driver:
    def __init__(self) -> None:
        self.stack = AsyncExitStack()
        self.server = None
        self.calls = {}

    async def connect(self, command):
        settings = {"client_session_timeout_seconds": seconds(command), "max_retry_attempts": 0}
        if program := command.get("command"):
            params = {
                "command": program["program"],
                "args": program["arguments"],
                "env": program["environment"],
            }
            server = MCPServerStdio(params=params, **settings)
        else:
            headers = {"Authorization": f"Bearer {command['token']}"}
            server = MCPServerStreamableHttp(params={"url": command["url"], "headers": headers}, **settings)
        self.server = await self.stack.enter_async_context(server)
        return {}

    async def list(self, _command):
        return {"tools": [dump(tool) for tool in await self.server.list_tools()]}

    async def call(self, command):
        return dump(await self.server.call_tool(command["name"], command["arguments"]))

    async def close(self, _command):
        await self.stack.aclose()
        return {}


asyncio.run(run(Driver()))

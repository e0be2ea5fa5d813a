"""The MCP toolset of pydantic-ai, as an agent of it uses it. See tests/py/lines.py."""

import asyncio
from contextlib import AsyncExitStack

from fastmcp.client.transports import StdioTransport
from lines import dump, run, seconds
from pydantic_ai.exceptions import ModelRetry
from pydantic_ai.mcp import MCPToolset


class Driver:
    def __init__(self) -> None:
        self.stack = AsyncExitStack()
        self.toolset = None
        self.calls = {}

    async def connect(self, command):
        timeout = seconds(command)
        if program := command.get("command"):
            transport = StdioTransport(
                command=program["program"], args=program["arguments"], env=program["environment"]
            )
            toolset = MCPToolset(transport, read_timeout=timeout)
        else:
            headers = {"Authorization": f"Bearer {command['token']}"}
            toolset = MCPToolset(command["url"], headers=headers, read_timeout=timeout)
        self.toolset = await self.stack.enter_async_context(toolset)
        return {}

    async def list(self, _command):
        return {"tools": [dump(tool) for tool in await self.toolset.list_tools()]}

    async def call(self, command):
        try:
            value = await self.toolset.direct_call_tool(command["name"], command["arguments"])
        except ModelRetry as error:  # the result of a tool that says that it failed
            return {"content": [{"type": "text", "text": error.message}], "isError": True}
        return {"content": [{"type": "text", "text": value if isinstance(value, str) else repr(value)}]}

    async def close(self, _command):
        await self.stack.aclose()
        return {}


asyncio.run(run(Driver()))

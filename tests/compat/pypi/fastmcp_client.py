"""fastmcp, version 2 and the newest: which one is a matter of the environment. See tests/py/lines.py."""

import asyncio
from contextlib import AsyncExitStack

from fastmcp import Client
from fastmcp.client.transports import StdioTransport, StreamableHttpTransport
from lines import dump, run, seconds


class Driver:
    def __init__(self) -> None:
        self.stack = AsyncExitStack()
        self.client = None
        self.calls = {}

    async def connect(self, command):
        if program := command.get("command"):
            transport = StdioTransport(
                command=program["program"], args=program["arguments"], env=program["environment"]
            )
        else:
            transport = StreamableHttpTransport(command["url"], auth=command["token"])
        # The newest one chooses the revision; version 2 has no choice.
        self.client = await self.stack.enter_async_context(Client(transport, timeout=seconds(command)))
        return {}

    async def list(self, _command):
        return {"tools": [dump(tool) for tool in await self.client.list_tools()]}

    async def call(self, command):
        result = await self.client.call_tool(command["name"], command["arguments"], raise_on_error=False)
        content = [dump(block) for block in result.content]
        return {"content": content, "isError": result.is_error}

    async def close(self, _command):
        await self.stack.aclose()
        return {}


asyncio.run(run(Driver()))

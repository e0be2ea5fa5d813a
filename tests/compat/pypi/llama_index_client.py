"""llama-index-tools-mcp, which opens a session for each request. See tests/py/lines.py."""

import asyncio

from lines import dump, run, seconds
from llama_index.tools.mcp import BasicMCPClient


class Driver:
    def __init__(self) -> None:
        self.client = None
        self.calls = {}

    async def connect(self, command):
        timeout = seconds(command)
        if program := command.get("command"):
            self.client = BasicMCPClient(
                program["program"], args=program["arguments"], env=program["environment"], timeout=timeout
            )
        else:
            headers = {"Authorization": f"Bearer {command['token']}"}
            self.client = BasicMCPClient(command["url"], headers=headers, timeout=timeout)
        return {}

    async def list(self, _command):
        return {"tools": [dump(tool) for tool in (await self.client.list_tools()).tools]}

    async def call(self, command):
        return dump(await self.client.call_tool(command["name"], command["arguments"]))

    async def close(self, _command):
        return {}


asyncio.run(run(Driver()))

"""smolagents, whose tools are functions that block. See tests/py/lines.py."""

import asyncio

from lines import run, seconds
from mcp import StdioServerParameters
from smolagents import MCPClient


class Driver:
    def __init__(self) -> None:
        self.client = None
        self.tools = {}
        self.calls = {}

    async def connect(self, command):
        if program := command.get("command"):
            server = StdioServerParameters(
                command=program["program"], args=program["arguments"], env=program["environment"]
            )
        else:
            headers = {"Authorization": f"Bearer {command['token']}"}
            server = {"url": command["url"], "headers": headers, "transport": "streamable-http"}
        settings = {"client_session_timeout_seconds": seconds(command)}
        self.client = await asyncio.to_thread(
            MCPClient, server, adapter_kwargs=settings, structured_output=False
        )
        self.tools = {tool.name: tool for tool in self.client.get_tools()}
        return {}

    async def list(self, _command):
        return {"tools": [{"name": name} for name in self.tools]}

    async def call(self, command):
        text = await asyncio.to_thread(self.tools[command["name"]], **command["arguments"])
        # It doesn't tell its agent whether the tool failed.
        return {"content": [{"type": "text", "text": str(text)}]}

    async def close(self, _command):
        await asyncio.to_thread(self.client.disconnect)
        return {}


asyncio.run(run(Driver()))

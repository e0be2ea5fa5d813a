"""mcp-use. See tests/py/lines.py."""

import asyncio
import os
from datetime import timedelta

os.environ["MCP_USE_ANONYMIZED_TELEMETRY"] = "false"

from lines import dump, run, seconds
from mcp_use import MCPClient


class Driver:
    def __init__(self) -> None:
        self.client = None
        self.session = None
        self.timeout = None
        self.calls = {}

    async def connect(self, command):
        self.timeout = timedelta(seconds=seconds(command))
        if program := command.get("command"):
            server = {"command": program["program"], "args": program["arguments"], "env": program["environment"]}
        else:
            # A token in a header doesn't keep it from signing in where it finds that it could.
            server = {"url": command["url"], "auth": command["token"]}
        self.client = MCPClient.from_dict({"mcpServers": {"gatehouse": server}})
        self.session = await self.client.create_session("gatehouse")
        return {}

    async def list(self, _command):
        return {"tools": [dump(tool) for tool in await self.session.list_tools()]}

    async def call(self, command):
        return dump(await self.session.call_tool(command["name"], command["arguments"], self.timeout))

    async def close(self, _command):
        await self.client.close_all_sessions()
        return {}


asyncio.run(run(Driver()))

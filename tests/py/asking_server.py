# A server on the official SDK for Python, which speaks both families of revisions. Its tool `greet` asks its client while
# it works on a call, which the SDK can do only on the older revisions. Over standard streams, or with a port over
# Streamable HTTP.
import sys

from mcp.server.mcpserver import Context, MCPServer
from pydantic import BaseModel

server = MCPServer("asking")


class Name(BaseModel):
    name: str


@server.tool()
async def greet(ctx: Context) -> str:
    """Greets whoever answers."""
    answer = await ctx.elicit("Who are you?", Name)
    return f"Hello {answer.data.name}" if answer.action == "accept" else answer.action


@server.tool()
def hello() -> str:
    """Greets nobody in particular."""
    return "Hello"


if len(sys.argv) > 1:
    server.run("streamable-http", host="127.0.0.1", port=int(sys.argv[1]))
else:
    server.run()

# A server on the official SDK for Python, which speaks both families of revisions. Its tools `greet` and `compose` ask their
# client, for a person's name and for a model's answer, while they work on a call, which the SDK can do only on the older
# revisions. Over standard streams, or with a port over
# Streamable HTTP.
import sys

from mcp.server.mcpserver import Context, MCPServer
from mcp_types import SamplingMessage, TextContent
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
async def compose(ctx: Context, about: str) -> str:
    """Lets the client's model write a line."""
    message = SamplingMessage(role="user", content=TextContent(type="text", text=f"Write a line about {about}."))
    answer = await ctx.session.create_message(
        [message], max_tokens=60, system_prompt="You write poems.", temperature=0.5, stop_sequences=["THE END"]
    )
    return f"{answer.model} wrote: {answer.content.text}"


@server.tool()
def hello() -> str:
    """Greets nobody in particular."""
    return "Hello"


if len(sys.argv) > 1:
    server.run("streamable-http", host="127.0.0.1", port=int(sys.argv[1]))
else:
    server.run()

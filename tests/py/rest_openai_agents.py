"""An agent framework (OpenAI Agents) that runs the tools of Gatehouse as functions of its own; see rest_tools.py."""

import asyncio

from agents import Agent, FunctionTool, OpenAIChatCompletionsModel, Runner, set_tracing_disabled
from openai import AsyncOpenAI
from rest_tools import RestTools, done, wanted

given = wanted()
tools = RestTools(given, "openai-responses")
set_tracing_disabled(True)


def function(tool):
    async def invoke(context, arguments):
        call = {
            "type": "function_call",
            "call_id": context.tool_call_id,
            "name": tool["name"],
            "arguments": arguments,
        }
        return (await asyncio.to_thread(tools.call, call))["output"]

    return FunctionTool(
        name=tool["name"],
        description=tool["description"],
        params_json_schema=tool["parameters"],
        on_invoke_tool=invoke,
        strict_json_schema=tool["strict"],
    )


async def run():
    client = AsyncOpenAI(base_url=given["provider"] + "/v1", api_key="none", max_retries=0)
    model = OpenAIChatCompletionsModel(model="scripted", openai_client=client)
    agent = Agent(name="Agent", model=model, tools=[function(tool) for tool in tools.list()])
    running = Runner.run_streamed(agent, given["prompt"])
    async for _ in running.stream_events():
        pass
    return running.final_output


done(tools, asyncio.run(run()))

"""Anthropic's own library, streamed, and the tools of Gatehouse; see rest_tools.py."""

from anthropic import Anthropic
from rest_tools import RestTools, done, wanted

given = wanted()
tools = RestTools(given, "anthropic")
client = Anthropic(base_url=given["provider"], api_key="none", max_retries=0)
messages = [{"role": "user", "content": given["prompt"]}]
while True:
    with client.messages.stream(
        model="scripted", max_tokens=1024, messages=messages, tools=tools.list()
    ) as stream:
        message = stream.get_final_message()
    calls = [block for block in message.content if block.type == "tool_use"]
    if not calls:
        break
    messages.append({"role": "assistant", "content": message.content})
    messages.append(
        {"role": "user", "content": [tools.call(call.model_dump(exclude_none=True)) for call in calls]}
    )
done(tools, "".join(block.text for block in message.content if block.type == "text"))

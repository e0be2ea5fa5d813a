"""OpenAI's own library with chat completions, streamed, and the tools of Gatehouse; see rest_tools.py."""

from openai import OpenAI
from openai.lib.streaming.chat import ChatCompletionStreamState
from rest_tools import RestTools, done, wanted

given = wanted()
tools = RestTools(given, "openai")
client = OpenAI(base_url=given["provider"] + "/v1", api_key="none", max_retries=0)
messages = [{"role": "user", "content": given["prompt"]}]
while True:
    state = ChatCompletionStreamState()
    for chunk in client.chat.completions.create(
        model="scripted", messages=messages, tools=tools.list(), stream=True
    ):
        state.handle_chunk(chunk)
    message = state.get_final_completion().choices[0].message
    if not message.tool_calls:
        break
    messages.append(message.model_dump(include={"role", "content", "tool_calls"}, exclude_none=True))
    messages += [tools.call(call.model_dump(exclude_none=True)) for call in message.tool_calls]
done(tools, message.content)

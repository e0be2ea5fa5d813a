"""OpenAI's own library with responses, streamed, and the tools of Gatehouse; see rest_tools.py."""

from openai import OpenAI
from rest_tools import RestTools, done, wanted

given = wanted()
tools = RestTools(given, "openai-responses")
client = OpenAI(base_url=given["provider"] + "/v1", api_key="none", max_retries=0)
items = [{"role": "user", "content": given["prompt"]}]
while True:
    response = None
    for event in client.responses.create(model="scripted", input=items, tools=tools.list(), stream=True):
        if event.type == "response.completed":
            response = event.response
    calls = [item for item in response.output if item.type == "function_call"]
    if not calls:
        break
    items += [item.model_dump(exclude_none=True) for item in response.output]
    items += [tools.call(call.model_dump(exclude_none=True)) for call in calls]
done(tools, response.output_text)

"""Google's own library, streamed, and the tools of Gatehouse; see rest_tools.py."""

from google import genai
from google.genai import types
from rest_tools import RestTools, done, wanted

given = wanted()
tools = RestTools(given, "gemini")
client = genai.Client(
    vertexai=False, api_key="none", http_options=types.HttpOptions(base_url=given["provider"])
)
contents = [types.Content(role="user", parts=[types.Part(text=given["prompt"])])]
config = types.GenerateContentConfig(
    tools=tools.list(), automatic_function_calling=types.AutomaticFunctionCallingConfig(disable=True)
)
while True:
    parts = []
    for chunk in client.models.generate_content_stream(model="scripted", contents=contents, config=config):
        for candidate in chunk.candidates or []:
            parts += (candidate.content and candidate.content.parts) or []
    calls = [part for part in parts if part.function_call]
    if not calls:
        break
    contents.append(types.Content(role="model", parts=parts))
    results = [tools.call(call.model_dump(mode="json", by_alias=True, exclude_none=True)) for call in calls]
    contents.append(types.Content(role="user", parts=[types.Part.model_validate(result) for result in results]))
done(tools, "".join(part.text for part in parts if part.text))

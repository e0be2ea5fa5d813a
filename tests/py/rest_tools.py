"""The REST tool API of Gatehouse, as a script would use it: with nothing but the standard library.

The programs beside it (rest_*.py) are started with one JSON object as their argument: `gateway` and `token` of
Gatehouse, the address of the `provider`, and the `prompt`. They say one JSON object: the model's last `text`, and the
`results` that the tools gave."""

import json
import sys
import time
import urllib.request


class RestTools:
    """The tools, in the format of one provider."""

    def __init__(self, wanted, provider_format) -> None:
        self.base = wanted["gateway"]
        self.format = provider_format
        self.headers = {"Authorization": f"Bearer {wanted['token']}", "Content-Type": "application/json"}
        self.results = []

    def list(self):
        """What a request to the provider has as its `tools`."""
        _, answer = self._send(f"/v1/tools?format={self.format}")
        return answer["tools"]

    def call(self, call):
        """The result of a call object of the provider, as it wants it back."""
        while True:
            response, result = self._send("/v1/tools/call", call)
            if response.status != 202:
                self.results.append(result)
                return result
            time.sleep(int(response.headers["Retry-After"]))

    def _send(self, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.base + path, data, self.headers)
        with urllib.request.urlopen(request, timeout=120) as response:
            return response, json.load(response)


def wanted():
    """What the program was started with."""
    return json.loads(sys.argv[1])


def done(tools, text) -> None:
    print(json.dumps({"text": text, "results": tools.results}))

"""Validates a description as OpenAPI 3.1, and each of its examples against the schema beside it."""

import json
import sys
import urllib.request

from jsonschema import Draft202012Validator
from openapi_spec_validator import OpenAPIV31SpecValidator

with urllib.request.urlopen(sys.argv[1] + "/openapi.json") as answer:
    document = json.load(answer)

faults = [f"{list(fault.absolute_path)}: {fault.message}" for fault in OpenAPIV31SpecValidator(document).iter_errors()]
examples = 0
for path, methods in document["paths"].items():
    for method, operation in methods.items():
        for body in operation.get("requestBody", {}).get("content", {}).values():
            examples += 1
            schema = {"allOf": [body["schema"]], "components": document["components"]}
            for fault in Draft202012Validator(schema).iter_errors(body["example"]):
                faults.append(f"{method} {path}: {fault.message}")
print(json.dumps({"faults": faults, "examples": examples}))

"""What schemathesis cannot do by itself: send lines of JSON."""

import schemathesis


@schemathesis.serializer("application/x-ndjson")
def lines_of_json(context, value):
    return value if isinstance(value, bytes) else str(value).encode("utf-8", "surrogatepass")

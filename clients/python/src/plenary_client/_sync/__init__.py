"""The client, synchronous: printed from the asynchronous one by clients/generate.py."""

"""The client, asynchronous."""

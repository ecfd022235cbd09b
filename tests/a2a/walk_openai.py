"""The Python client of OpenAI's API against our server."""

from __future__ import annotations

import openai
from served import Server


def main() -> None:
    with Server() as server:
        token = server.agent("@nick.laptop")
        client = openai.OpenAI(base_url=f"{server.url}/v1", api_key=token, max_retries=0)
        assert "@plenary.echo" in [model.id for model in client.models.list()]
        assert client.models.retrieve("echo").owned_by == "plenary"

        hello = [{"role": "user", "content": "Hello"}]
        for model in ["echo", "@plenary.echo", "plenary.echo"]:
            chat = client.chat.completions.create(model=model, messages=hello)  # type: ignore[arg-type]
            assert chat.choices[0].message.content == "Hello" and chat.choices[0].finish_reason == "stop", chat
        longer = [{"role": "system", "content": "Be short."}, *hello]
        chat = client.chat.completions.create(model="echo", messages=longer)  # type: ignore[arg-type]
        assert chat.choices[0].message.content == "system: Be short.\n\nuser: Hello", chat
        chunks = list(
            client.chat.completions.create(
                model="echo",
                messages=[{"role": "user", "content": "a b c"}],
                stream=True,
                stream_options={"include_usage": True},
                extra_body={"metadata": {"demo": ["deltas"]}},
            )
        )
        text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
        assert text == "a b c", chunks
        # A run that ends before its pieces were read gives its text in one.
        assert chunks[-1].usage is not None and len(chunks) > 3, chunks

        first = client.responses.create(model="echo", input="One")
        assert first.output_text == "One" and first.status == "completed", first
        second = client.responses.create(model="echo", input="Two", previous_response_id=first.id)
        assert second.output_text == "Two", second
        demo = {"metadata": {"demo": ["wait_for_input"]}}
        asks = client.responses.create(model="echo", input="A form", extra_body=demo)
        assert asks.output_text and asks.status == "completed", asks
        answered = client.responses.create(model="echo", input="yes", previous_response_id=asks.id)
        assert "yes" in answered.output_text, answered
        with client.responses.stream(model="echo", input="x y") as stream:
            kinds = [event.type for event in stream]
            assert kinds[0] == "response.created" and kinds[-1] == "response.completed", kinds
            assert stream.get_final_response().output_text == "x y"

        kept = client.responses.retrieve(first.id)
        assert kept.output_text == "One" and kept.status == "completed" and kept.model == "echo", kept
        assert client.responses.retrieve(second.id).previous_response_id == first.id
        assert client.responses.retrieve(asks.id).output_text == asks.output_text
        assert client.responses.retrieve(answered.id).output_text == answered.output_text
        items = list(client.responses.input_items.list(first.id))
        assert [item.content[0].text for item in items] == ["One"], items  # type: ignore[union-attr]
        later = client.responses.create(model="echo", input="Later", background=True)
        while later.status in ("queued", "in_progress"):
            later = client.responses.retrieve(later.id)
        assert later.output_text == "Later" and later.status == "completed", later
        slow = client.responses.create(
            model="echo", input="Never", background=True, extra_body={"metadata": {"demo": ["slow"]}}
        )
        assert slow.status == "in_progress" and slow.background, slow
        client.responses.cancel(slow.id)
        while client.responses.retrieve(slow.id).status != "cancelled":
            pass

        for wrong, error in [
            (lambda: client.responses.retrieve("resp_1.0.echo"), openai.NotFoundError),
            (lambda: client.responses.delete(first.id), openai.APIStatusError),
            (lambda: client.embeddings.create(model="echo", input="x"), openai.NotFoundError),
            (lambda: client.files.list(), openai.NotFoundError),
            (lambda: client.chat.completions.create(model="nobody", messages=hello), openai.NotFoundError),  # type: ignore[arg-type]
            (lambda: client.chat.completions.create(model="echo", messages=[]), openai.BadRequestError),
            (lambda: client.responses.create(model="echo", input="x", previous_response_id="resp_1"), openai.BadRequestError),
            (lambda: openai.OpenAI(base_url=f"{server.url}/v1", api_key="pla_no").models.list(), openai.AuthenticationError),
            (
                lambda: client.chat.completions.create(
                    model="echo", messages=hello, extra_body={"metadata": {"demo": ["fail"]}}  # type: ignore[arg-type]
                ),
                openai.UnprocessableEntityError,
            ),
        ]:
            try:
                wrong()
                raise AssertionError(f"{error} was not raised")
            except error as raised:
                assert raised.body and raised.body["message"], raised.body  # type: ignore[index]
    print("openai: passed")


main()

// Server-sent events, out of bytes.

/** One event; `id` is null where it has none of its own. One without data only says where the stream goes on. */
export interface ServerEvent {
  id: string | null;
  name: string;
  data: string;
}

/** Takes bytes and gives events. Lines end with LF, CR or both; comments are dropped. */
export class EventParser {
  private readonly decoder = new TextDecoder();
  private rest = "";
  private afterCr = false;
  private id: string | null = null;
  private name = "";
  private data: string[] = [];

  feed(chunk: Uint8Array): ServerEvent[] {
    const text = this.decoder.decode(chunk, { stream: true });
    const behindCr = this.afterCr;
    if (text) this.afterCr = text.endsWith("\r");
    const lines = (this.rest + (behindCr ? text.replace(/^\n/, "") : text)).split(/\r\n|\r|\n/);
    this.rest = lines.pop() ?? "";
    return lines.flatMap((line) => this.line(line));
  }

  private line(line: string): ServerEvent[] {
    if (line === "") {
      const { id, name, data } = this;
      [this.id, this.name, this.data] = [null, "", []];
      return data.length || id !== null ? [{ id, name: name || "message", data: data.join("\n") }] : [];
    }
    const colon = line.indexOf(":");
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (field === "data") this.data.push(value);
    else if (field === "event") this.name = value;
    else if (field === "id" && !value.includes("\0")) this.id = value;
    return [];
  }
}

// Runs a program of Node whose requests to a server all bear a token, although it knows of none: it is given the URL of
// a relay that adds the header. Arguments are the base URL, the token, and the program with its own arguments, in which
// {url} stands for the relay.
import { spawn } from "node:child_process";
import http from "node:http";

const [base, token, ...words] = process.argv.slice(2);
const { hostname, port } = new URL(base);

const relay = http.createServer((request, response) => {
  const headers = { ...request.headers, authorization: `Bearer ${token}` };
  const { url: path, method } = request;
  const onward = http.request({ hostname, port, path, method, headers }, (answer) => {
    response.writeHead(answer.statusCode, answer.headers);
    answer.pipe(response);
  });
  onward.on("error", () => response.destroy());
  // A client that hangs up must be seen to.
  response.on("close", () => onward.destroy());
  request.pipe(onward);
});

relay.listen(0, "127.0.0.1", () => {
  const url = `http://127.0.0.1:${relay.address().port}`;
  const program = spawn(process.execPath, words.map((word) => word.replaceAll("{url}", url)), { stdio: "inherit" });
  program.on("exit", (code) => process.exit(code ?? 1));
});

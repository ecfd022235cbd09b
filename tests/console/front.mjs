// Stands before the server and gives the files of the page from the disk, so that a changed page needs no build: `PLENARY_CONSOLE_FRONT=$PWD/front.mjs npm test`.
import { existsSync, readFileSync, statSync } from 'node:fs';
import { createServer, request } from 'node:http';
import { extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';

const WEB = fileURLToPath(new URL('../../crates/console/web/', import.meta.url));
const TYPES = { '.js': 'text/javascript; charset=utf-8', '.css': 'text/css; charset=utf-8', '.svg': 'image/svg+xml', '.woff2': 'font/woff2', '.txt': 'text/plain; charset=utf-8' };
const to = new URL(process.env.FRONT_TO);

/** The file that a path names, if it is one of the page's. */
const fileOf = (path) => {
  const name = /^\/console\/([\w./-]+)$/.exec(path)?.[1];
  const file = name && !name.includes('..') && TYPES[extname(name)] ? join(WEB, name) : '';
  return file && existsSync(file) && statSync(file).isFile() ? file : undefined;
};

createServer((asked, reply) => {
  const file = fileOf(new URL(asked.url, to).pathname);
  // The page itself and the worker have headers that the server alone knows: only their text is of the disk.
  const page = asked.url === '/' ? 'index.html' : undefined;
  const give = (status, headers, bytes) => {
    const { 'content-length': _length, 'transfer-encoding': _coding, etag: _tag, ...rest } = headers;
    const isZipped = /gzip/.test(asked.headers['accept-encoding'] ?? '');
    reply.writeHead(status, { ...rest, 'cache-control': 'no-cache', ...(isZipped ? { 'content-encoding': 'gzip' } : {}) });
    reply.end(isZipped ? gzipSync(bytes) : bytes);
  };
  if (file && asked.method === 'GET') return give(200, { 'content-type': TYPES[extname(file)], 'x-content-type-options': 'nosniff' }, readFileSync(file));
  const headers = page ? { ...asked.headers, 'accept-encoding': 'identity', 'if-none-match': '' } : asked.headers;
  const sent = request({ host: to.hostname, port: to.port, method: asked.method, path: asked.url, headers, agent: false }, (got) => {
    if (page && got.statusCode === 200 && /html/.test(got.headers['content-type'] ?? '')) {
      got.resume();
      return give(200, got.headers, readFileSync(join(WEB, page)));
    }
    reply.writeHead(got.statusCode, got.rawHeaders);
    return got.pipe(reply);
  });
  sent.on('error', () => reply.destroy());
  reply.on('close', () => sent.destroy());
  return asked.pipe(sent);
}).listen(Number(process.env.FRONT_PORT), '127.0.0.1');

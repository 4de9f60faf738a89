// A server on loopback for the replay of an archive in a browser.
import { createReadStream, existsSync, statSync } from "node:fs";
import { createServer } from "node:http";

// serve serves files, and pages that are computed from the query, by their paths. It
// answers requests for ranges: a WACZ is read in parts.
export async function serve(files, pages) {
  const server = createServer((req, res) => {
    const { pathname: path, search } = new URL(req.url, "http://localhost");
    if (path in pages) return res.setHeader("Content-Type", "text/html").end(pages[path](search.slice(1)));
    const file = files[path];
    if (!file || !existsSync(file)) return res.writeHead(404).end();
    res.setHeader("Content-Type", path.endsWith(".js") ? "text/javascript" : "application/zip");
    res.setHeader("Accept-Ranges", "bytes");
    const size = statSync(file).size;
    let [start, end] = [0, size - 1];
    const range = /^bytes=(\d*)-(\d*)$/.exec(req.headers.range ?? "");
    if (range) {
      if (range[1] === "") start = Math.max(0, size - Number(range[2]));
      else [start, end] = [Number(range[1]), range[2] === "" ? end : Math.min(end, Number(range[2]))];
      if (start > end) return res.writeHead(416, { "Content-Range": `bytes */${size}` }).end();
      res.statusCode = 206;
      res.setHeader("Content-Range", `bytes ${start}-${end}/${size}`);
    }
    res.setHeader("Content-Length", end - start + 1);
    if (req.method === "HEAD") return res.end();
    createReadStream(file, { start, end }).pipe(res);
  });
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  return server;
}

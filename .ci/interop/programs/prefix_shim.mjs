// Stands between a client that knows one server's own names and a gateway that offers them as NAME__tool: puts the
// prefix on what is asked for, takes it off what is listed, and hides the other servers. Nothing else is changed, so
// what the suite judges is still the gateway.
//   node prefix_shim.mjs --target http://127.0.0.1:8080/mcp --prefix NAME__ --port 3900
import http from "node:http";
import { parseArgs } from "node:util";

const text = { type: "string" };
const { values } = parseArgs({ options: { target: text, prefix: text, port: text } });
const target = new URL(values.target);
const own = [`127.0.0.1:${values.port}`, `localhost:${values.port}`];
const named = ["tools/call", "prompts/get"];

function outgoing(message) {
  const { method, params } = message ?? {};
  if (named.includes(method) && typeof params?.name === "string") params.name = values.prefix + params.name;
  if (params?.ref?.type === "ref/prompt") params.ref.name = values.prefix + params.ref.name;
  return message;
}

function incoming(message) {
  for (const list of ["tools", "prompts"]) {
    if (!Array.isArray(message?.result?.[list])) continue;
    message.result[list] = message.result[list]
      .filter((item) => item.name.startsWith(values.prefix))
      .map((item) => ({ ...item, name: item.name.slice(values.prefix.length) }));
  }
  return message;
}

// What is not JSON passes as it is: the suite sends such bodies on purpose.
function rewrite(body, change) {
  try {
    return JSON.stringify(change(JSON.parse(body)));
  } catch {
    return body;
  }
}

// `=?base64?…?=` is how a name that is no plain header value is written.
function prefixedHeader(value) {
  const encoded = /^\s*=\?base64\?(.*)\?=\s*$/.exec(value);
  if (!encoded) return value.replace(/^\s*/, (blank) => blank + values.prefix);
  const name = values.prefix + Buffer.from(encoded[1], "base64");
  return `=?base64?${Buffer.from(name).toString("base64")}?=`;
}

function forwardedHeaders(request, body) {
  const headers = { ...request.headers };
  // Only a Host that means this shim becomes the gateway's: a foreign one is what the gateway must refuse.
  if (own.includes(headers.host)) headers.host = target.host;
  if (headers["mcp-name"] !== undefined && named.includes(headers["mcp-method"]?.trim())) {
    headers["mcp-name"] = prefixedHeader(headers["mcp-name"]);
  }
  delete headers["transfer-encoding"];
  if (body.length) headers["content-length"] = body.length;
  return headers;
}

async function whole(stream) {
  const chunks = [];
  for await (const chunk of stream) chunks.push(chunk);
  return Buffer.concat(chunks);
}

async function relayEvents(answer, response) {
  response.writeHead(answer.statusCode, answer.headers);
  response.flushHeaders();
  let rest = "";
  for await (const chunk of answer.setEncoding("utf8")) {
    const lines = (rest + chunk).split("\n");
    rest = lines.pop();
    for (const line of lines) {
      const data = /^data: ?(.+)$/.exec(line);
      response.write(`${data ? `data: ${rewrite(data[1], incoming)}` : line}\n`);
    }
  }
  response.end(rest);
}

async function relayBody(answer, response) {
  const body = Buffer.from(rewrite((await whole(answer)).toString(), incoming));
  const { "transfer-encoding": _, ...headers } = answer.headers;
  if (body.length) headers["content-length"] = body.length;
  response.writeHead(answer.statusCode, headers).end(body);
}

async function handle(request, response) {
  const received = await whole(request);
  const body = received.length ? Buffer.from(rewrite(received.toString(), outgoing)) : received;
  const options = { method: request.method, headers: forwardedHeaders(request, body) };
  const upstream = http.request(target, options);
  const fail = (error) => (response.headersSent ? response.destroy() : response.writeHead(502).end(String(error)));
  // A client that goes away is how a modern call is cancelled.
  response.on("close", () => upstream.destroy());
  upstream.on("error", fail);
  upstream.on("response", (answer) => {
    const events = answer.headers["content-type"]?.includes("text/event-stream");
    (events ? relayEvents : relayBody)(answer, response).catch(fail);
  });
  upstream.end(body);
}

http.createServer((request, response) => handle(request, response).catch(() => response.destroy())).listen(+values.port, "127.0.0.1");

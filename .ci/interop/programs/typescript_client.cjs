// The official TypeScript SDKs as a client: v1 (handshake revisions only) and v2. The same job and answer as
// python_client.py; `mode` is "v1", or for v2 "legacy", "auto" or a modern revision to pin.
// INTEROP_NPM names the folder of the packages, which is not beside this file.
const { createRequire } = require("node:module");
const { setTimeout: sleep } = require("node:timers/promises");

const packages = createRequire(`${process.env.INTEROP_NPM}/package.json`);
const info = { name: "interop-typescript", version: "1" };

function connection(job) {
  if (job.mode === "v1") {
    const { Client } = packages("@modelcontextprotocol/sdk/client/index.js");
    const { StdioClientTransport } = packages("@modelcontextprotocol/sdk/client/stdio.js");
    const { StreamableHTTPClientTransport } = packages("@modelcontextprotocol/sdk/client/streamableHttp.js");
    return { client: new Client(info), StdioClientTransport, StreamableHTTPClientTransport };
  }
  const { Client, StreamableHTTPClientTransport } = packages("@modelcontextprotocol/client");
  const { StdioClientTransport } = packages("@modelcontextprotocol/client/stdio");
  const mode = ["legacy", "auto"].includes(job.mode) ? job.mode : { pin: job.mode };
  return { client: new Client(info, { versionNegotiation: { mode } }), StdioClientTransport, StreamableHTTPClientTransport };
}

// v1 has no accessor for the revision, but tells its transport.
function watchRevision(transport) {
  const tell = transport.setProtocolVersion?.bind(transport);
  const seen = {};
  transport.setProtocolVersion = (revision) => {
    seen.revision = revision;
    tell?.(revision);
  };
  return seen;
}

async function everyPage(client) {
  const tools = [];
  let pages = 0;
  let cursor;
  do {
    // v2 gathers all pages by itself where no cursor is given; an explicit one asks for a page in both versions.
    const page = await client.listTools(cursor === undefined ? undefined : { cursor }, { cacheMode: "bypass" });
    tools.push(...page.tools.map((tool) => tool.name));
    cursor = page.nextCursor;
    pages += 1;
  } while (cursor !== undefined);
  return { tools, pages };
}

async function main(job) {
  const { client, StdioClientTransport, StreamableHTTPClientTransport } = connection(job);
  const transport = job.command
    ? new StdioClientTransport({ command: job.command[0], args: job.command.slice(1), stderr: "inherit" })
    : new StreamableHTTPClientTransport(new URL(job.url));
  const seen = watchRevision(transport);
  await client.connect(transport);
  try {
    const end = Date.now() + job.seconds * 1000;
    let listed = await everyPage(client);
    while (!job.wanted.every((name) => listed.tools.includes(name)) && Date.now() < end) {
      await sleep(250);
      listed = await everyPage(client);
    }
    const answers = [];
    for (const call of job.calls) {
      answers.push(await client.callTool(call).catch((error) => ({ problem: String(error) })));
    }
    return { revision: client.getNegotiatedProtocolVersion?.() ?? seen.revision, ...listed, answers };
  } finally {
    await client.close();
  }
}

main(JSON.parse(process.argv[2])).then(
  (answer) => console.log(JSON.stringify(answer)),
  (error) => {
    console.error(error);
    process.exitCode = 1;
  },
);

// The official TypeScript SDKs as clients that use more than lists and calls. The same job and answer as
// python_features.py; `mode` is "v1", or for v2 "legacy" or "auto". INTEROP_NPM names the folder of the packages.
const { createRequire } = require("node:module");
const { setTimeout: sleep } = require("node:timers/promises");

const packages = createRequire(`${process.env.INTEROP_NPM}/package.json`);
const info = { name: "interop-typescript", version: "1" };
const capabilities = { elicitation: {}, sampling: {}, roots: {} };

// What differs between the two SDKs: how a handler is named, and how a client is made.
function sdk(mode) {
  if (mode === "v1") {
    const { Client } = packages("@modelcontextprotocol/sdk/client/index.js");
    const types = packages("@modelcontextprotocol/sdk/types.js");
    return {
      client: new Client(info, { capabilities }),
      ...packages("@modelcontextprotocol/sdk/client/stdio.js"),
      ...packages("@modelcontextprotocol/sdk/client/streamableHttp.js"),
      handle: {
        "elicitation/create": types.ElicitRequestSchema,
        "sampling/createMessage": types.CreateMessageRequestSchema,
        "roots/list": types.ListRootsRequestSchema,
        "notifications/resources/updated": types.ResourceUpdatedNotificationSchema,
        "notifications/resources/list_changed": types.ResourceListChangedNotificationSchema,
        "notifications/tools/list_changed": types.ToolListChangedNotificationSchema,
      },
      call: (client, params, options) => client.callTool(params, undefined, options),
    };
  }
  const { Client, StreamableHTTPClientTransport } = packages("@modelcontextprotocol/client");
  return {
    client: new Client(info, { capabilities, versionNegotiation: { mode } }),
    ...packages("@modelcontextprotocol/client/stdio"),
    StreamableHTTPClientTransport,
    handle: new Proxy({}, { get: (_, method) => method }),
    call: (client, params, options) => client.callTool(params, options),
  };
}

class Features {
  constructor({ client, handle, call }) {
    Object.assign(this, { client, asked: [], waiting: [] });
    this.call = ({ tool, arguments: args }, options) => call(client, { name: tool, arguments: args }, options);
    client.setRequestHandler(handle["elicitation/create"], ({ params }) => {
      this.asked.push(params.message);
      const names = params.requestedSchema.required ?? [];
      return { action: "accept", content: Object.fromEntries(names.map((name) => [name, "Ada"])) };
    });
    client.setRequestHandler(handle["sampling/createMessage"], ({ params }) => {
      this.asked.push(params.messages[0].content.text);
      return { role: "assistant", content: { type: "text", text: "Paris" }, model: "interop" };
    });
    client.setRequestHandler(handle["roots/list"], () => {
      this.asked.push("roots");
      return { roots: [{ uri: "file:///interop", name: "interop" }] };
    });
    for (const method of ["resources/updated", "resources/list_changed", "tools/list_changed"]) {
      client.setNotificationHandler(handle[`notifications/${method}`], ({ params }) => this.noted(method, params?.uri));
    }
  }

  noted(method, uri) {
    this.waiting = this.waiting.filter((wait) => wait.method !== method || wait.uri !== uri || wait.resolve());
  }

  // Resolves with the next notification of this kind; to be asked for before what causes it.
  note(method, uri) {
    return new Promise((resolve) => this.waiting.push({ method, uri, resolve }));
  }

  get modern() {
    return this.client.getNegotiatedProtocolVersion?.() === "2026-07-28";
  }

  async elicitation(plan) {
    this.asked = [];
    const text = textOf(await this.call(plan));
    return { text, asked: this.asked };
  }

  sampling(plan) {
    return this.elicitation(plan);
  }

  roots(plan) {
    return this.elicitation(plan);
  }

  async progress(plan) {
    const progress = [];
    const text = textOf(await this.call(plan, { onprogress: (step) => progress.push(step.progress) }));
    return { text, progress };
  }

  async cancellation(plan) {
    const controller = new AbortController();
    const options = { signal: controller.signal, onprogress: () => controller.abort("enough") };
    const ended = await this.call(plan, options).then(
      () => false,
      () => controller.signal.aborted,
    );
    let outcome;
    while ((outcome = textOf(await this.call(plan.after))) === "running") await sleep(100);
    return { ended, outcome };
  }

  async subscription(plan) {
    const changed = this.note("resources/updated", plan.uri);
    const listening = this.modern
      ? await this.client.listen({ resourceSubscriptions: [plan.uri] })
      : await this.client.subscribeResource({ uri: plan.uri });
    await this.call(plan);
    await changed;
    await (this.modern ? listening.close() : this.client.unsubscribeResource({ uri: plan.uri }));
    return { updated: true };
  }

  async list_change(plan) {
    const change = () => this.note(`${plan.kind}/list_changed`, undefined);
    let changed = change();
    const listening = this.modern ? await this.client.listen({ [`${plan.kind}ListChanged`]: true }) : undefined;
    await this.call(plan);
    // A gateway also tells of what others have changed.
    for (let names = []; !names.includes(plan.appears); names = await this.names(plan.kind)) {
      await changed;
      changed = change();
    }
    await listening?.close();
    if (plan.undo) await this.call(plan);
    return { listed: true };
  }

  async names(kind) {
    const fetch = { tools: "listTools", resources: "listResources" }[kind];
    const found = [];
    let cursor;
    do {
      const page = await this.client[fetch](cursor === undefined ? undefined : { cursor }, { cacheMode: "bypass" });
      found.push(...page[kind].map((item) => item.name));
      cursor = page.nextCursor;
    } while (cursor !== undefined);
    return found;
  }
}

function textOf(result) {
  return result.content.map((part) => part.text ?? "").join(" ");
}

async function within(seconds, work) {
  const clock = new AbortController();
  const late = sleep(seconds * 1000, undefined, { signal: clock.signal }).then(() => {
    throw new Error(`not within ${seconds} s`);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    late.catch(() => {});
    clock.abort();
  }
}

async function main(job) {
  const parts = sdk(job.mode);
  const { client } = parts;
  const features = new Features(parts);
  const transport = job.command
    ? new parts.StdioClientTransport({ command: job.command[0], args: job.command.slice(1), stderr: "inherit" })
    : new parts.StreamableHTTPClientTransport(new URL(job.url));
  // v1 has no accessor for the revision, but tells its transport.
  const tell = transport.setProtocolVersion?.bind(transport);
  let revision;
  transport.setProtocolVersion = (version) => {
    revision = version;
    tell?.(version);
  };
  await client.connect(transport);
  const saw = {};
  try {
    const end = Date.now() + job.ready_seconds * 1000;
    for (let names = []; !job.wanted.every((name) => names.includes(name)) && Date.now() < end; await sleep(250)) {
      names = await features.names("tools");
    }
    for (const [feature, plan] of Object.entries(job.plan)) {
      saw[feature] = await within(job.seconds, features[feature](plan)).catch((error) => {
        console.error(error);
        return { problem: String(error) };
      });
    }
    return { revision: client.getNegotiatedProtocolVersion?.() ?? revision, saw };
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

//! Literal JSON the fakes send, for tests that compare bytes.
//!
//! Nothing here is made by a serialiser: what a constant holds is what goes over the wire.

use crate::profile::Era;

macro_rules! odd_members {
    () => {
        concat!(
            r#""content":[{"type":"text","text":"plain \u0041\/\u00e9 \ud83d\ude00 \" \\ end"},"#,
            r#"{"type":"hologram","frames":[1.0,1e400,9007199254740993],"vendor":{"b":1,"a":2}},"#,
            r#"{"type":"text","text":"é😀","annotations":{"priority":0.50,"x":null},"_meta":{"k":[]}}],"#,
            r#""structuredContent":{"z":1.0,"y":1e400,"x":9007199254740993,"w":-0,"v":1E+2,"#,
            r#""a":1,"\\u0061":2,"A":3,"":{}},"isError":false,"vendorExtra":{"deep":[[[]]],"n":0.10},"#,
            r#""_meta":{"com.example/trace":"t-1","progressToken":"not a token","n":1.50}"#
        )
    };
}

/// What the tool `odd` answers in the legacy era, byte for byte: unknown members, an unknown content type,
/// `1.0`, `1e400`, an integer above 2^53, escapes that look like duplicates, `_meta`.
pub const ODD_RESULT: &str = concat!("{", odd_members!(), "}");

/// [`ODD_RESULT`] as a modern result: the same members after the `resultType` that era demands.
pub const ODD_RESULT_MODERN: &str = concat!(r#"{"resultType":"complete","#, odd_members!(), "}");

/// The definition of the tool `odd`, byte for byte: members out of the usual order, unknown members, odd
/// numbers, `_meta`.
pub const ODD_TOOL: &str = concat!(
    r#"{"x-first":{"b":1.0,"a":1e400},"description":"Odd \u0026 ends \/ é","name":"odd","#,
    r#""inputSchema":{"type":"object","properties":{"n":{"type":"number","maximum":1e400,"#,
    r#""default":9007199254740993,"multipleOf":0.10}},"additionalProperties":true,"$comment":"\u0061"},"#,
    r#""annotations":{"readOnlyHint":true,"vendorHint":[1.0]},"_meta":{"com.example/v":1.0},"#,
    r#""unknownMember":null}"#
);

/// The definitions of the default tools, in the order in which the fakes list them.
pub const DEFAULT_TOOLS: &[&str] = &[
    concat!(
        r#"{"name":"echo","title":"Echo","description":"Returns its arguments as they came","#,
        r#""inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}"#
    ),
    concat!(
        r#"{"name":"add","description":"Adds two numbers","inputSchema":{"type":"object","properties":"#,
        r#"{"a":{"type":"number"},"b":{"type":"number"}},"required":["a","b"]},"#,
        r#""outputSchema":{"type":"object","properties":{"sum":{"type":"number"}},"required":["sum"]}}"#
    ),
    concat!(
        r#"{"name":"sleep_ms","description":"Answers with its arguments after `ms` milliseconds","#,
        r#""inputSchema":{"type":"object","properties":{"ms":{"type":"integer"}},"required":["ms"]}}"#
    ),
    r#"{"name":"counter","description":"Counts its calls","inputSchema":{"type":"object"}}"#,
    concat!(
        r#"{"name":"blob","description":"A text of `bytes` letters","inputSchema":{"type":"object","#,
        r#""properties":{"bytes":{"type":"integer"}},"required":["bytes"]}}"#
    ),
    r#"{"name":"fail","description":"A result with isError","inputSchema":{"type":"object"}}"#,
    r#"{"name":"report","description":"What the server knows of itself","inputSchema":{"type":"object"}}"#,
    ODD_TOOL,
    concat!(
        r#"{"name":"structured_only","description":"structuredContent with content []","#,
        r#""inputSchema":{"type":"object"}}"#
    ),
    concat!(
        r#"{"name":"progress","description":"Reports progress `n` times, `ms` apart","#,
        r#""inputSchema":{"type":"object","properties":{"n":{"type":"integer"},"ms":{"type":"integer"}}}}"#
    ),
    concat!(
        r#"{"name":"log","description":"Logs `n` times, `ms` apart","#,
        r#""inputSchema":{"type":"object","properties":{"n":{"type":"integer"},"ms":{"type":"integer"}}}}"#
    ),
    concat!(
        r#"{"name":"ask","description":"Asks the user for a name and answers with what came back","#,
        r#""inputSchema":{"type":"object"}}"#
    ),
    concat!(
        r#"{"name":"mirror","description":"Arguments that are mirrored in headers","#,
        r#""inputSchema":{"type":"object","properties":{"site":{"type":"string","x-mcp-header":"Site"},"#,
        r#""count":{"type":"integer","x-mcp-header":"Count"},"dry":{"type":"boolean","x-mcp-header":"Dry"}}}}"#
    ),
];

/// The tool that `--list-changed-after` and [`crate::http::HttpFake::add_tool`] tests add.
pub const LATE_TOOL: &str =
    r#"{"name":"late","description":"Appeared while running","inputSchema":{"type":"object"}}"#;

/// The definitions of a server with the whole protocol: those of the default tools that every revision's schema takes
/// (`odd` is none of them), and those that ask, change, or run as tasks.
pub fn whole_tools(era: Era) -> Vec<String> {
    let usual = DEFAULT_TOOLS.iter().filter(|tool| **tool != ODD_TOOL).map(|&tool| tool.to_owned());
    let plain = WHOLE_TOOLS.iter().map(|name| {
        format!(r#"{{"name":"{name}","description":"Tool {name}","inputSchema":{{"type":"object"}}}}"#)
    });
    let view = r#"{"name":"view","description":"Has a view","inputSchema":{"type":"object"},"_meta":{"ui":{"resourceUri":"ui://fake/view"}}}"#;
    let tasks = TASK_TOOLS.iter().map(|(name, support)| {
        let execution = match era {
            Era::Modern => String::new(),
            _ => format!(r#","execution":{{"taskSupport":"{support}"}}"#),
        };
        format!(r#"{{"name":"{name}","description":"May take long","inputSchema":{{"type":"object"}}{execution}}}"#)
    });
    usual.chain(plain).chain([view.to_owned()]).chain(tasks).collect()
}

const WHOLE_TOOLS: &[&str] = &[
    "ask_form",
    "ask_url",
    "ask_twice",
    "ask_two",
    "ask_stateless",
    "come_again",
    "sample",
    "sample_tools",
    "roots",
    "needs_url",
    "touch_tools",
    "touch_prompts",
    "touch_resources",
    "cry_wolf",
    "update_resource",
    "everything",
    "array",
];

const TASK_TOOLS: &[(&str, &str)] = &[
    ("slow_task", "required"),
    ("task_ask", "required"),
    ("failing_task", "required"),
    ("maybe_task", "optional"),
];

/// `count` definitions: the default tools first, then generated ones named `tool_00012` that act like `echo`.
pub fn tools(count: usize) -> Vec<String> {
    let generated = (DEFAULT_TOOLS.len()..count).map(|n| generated_tool(&format!("tool_{n:05}")));
    DEFAULT_TOOLS.iter().take(count).map(|&t| t.to_owned()).chain(generated).collect()
}

/// A small definition with this name; the name must need no JSON escapes.
pub fn generated_tool(name: &str) -> String {
    format!(
        r#"{{"name":"{name}","description":"Generated tool {name}","inputSchema":{{"type":"object","properties":{{"text":{{"type":"string"}}}}}}}}"#
    )
}

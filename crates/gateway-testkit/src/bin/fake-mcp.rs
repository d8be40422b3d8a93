//! The fake stdio MCP server as a program: `gateway_testkit::stdio` lists its switches.

fn main() {
    std::process::exit(gateway_testkit::stdio::run(std::env::args().skip(1)));
}

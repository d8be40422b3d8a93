//! A server that tells what it should keep to itself.

/// A script that does `at_start`, and answers every call by `at_call`, in which `$id` is the call's.
pub(crate) fn telling(at_start: &str, at_call: &str) -> String {
    SCRIPT.replace("AT_START", at_start).replace("AT_CALL", at_call)
}

const SCRIPT: &str = r#"AT_START
while read -r line; do
  id=$(printf %s "$line" | sed -n 's/.*"id":\("[^"]*"\|[0-9]*\).*/\1/p')
  case $line in
    *'"initialize"'*) echo "{\"jsonrpc\":\"2.0\",\"id\":$id,\"result\":{\"protocolVersion\":\"2025-06-18\",\"capabilities\":{\"tools\":{}},\"serverInfo\":{\"name\":\"t\",\"version\":\"1\"}}}" ;;
    *'"tools/list"'*) echo "{\"jsonrpc\":\"2.0\",\"id\":$id,\"result\":{\"tools\":[{\"name\":\"tell\",\"inputSchema\":{\"type\":\"object\"}}]}}" ;;
    *'"tools/call"'*) AT_CALL ;;
    *'"id"'*) echo "{\"jsonrpc\":\"2.0\",\"id\":$id,\"error\":{\"code\":-32601,\"message\":\"no\"}}" ;;
  esac
done
"#;

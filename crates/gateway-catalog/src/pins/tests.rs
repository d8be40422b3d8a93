mod canonical;
mod diff;
mod live;
mod lock;

use gateway_domain::{DownstreamName, RawObject, Tool};

use super::*;

fn parsed(text: &str) -> RawObject {
    RawObject::parse(text.to_owned()).unwrap()
}

fn files() -> DownstreamName {
    DownstreamName::parse("files").unwrap()
}

fn tool(definition: &str) -> Tool {
    Tool::from_definition(parsed(definition)).unwrap()
}

fn locked(definition: &str) -> Locked {
    Locked::new(&files(), &tool(definition))
}

fn lock(tools: &[(&str, &str)]) -> Lock {
    Lock::new(tools.iter().map(|(name, definition)| ((*name).to_owned(), locked(definition))))
}

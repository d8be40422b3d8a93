//! What happens to a server, be it one process or several with one mind.

use std::{fs, io::Write as _, time::Duration};

use crate::{
    changes::{Change, PROMPTS, RESOURCES, TOOLS},
    engine::Engine,
    fixtures::LATE_TOOL,
};

impl Engine {
    /// Something happens: `touch_tools`, `touch_prompts`, `touch_resources` (a list gets an item), `cry_wolf` (it is
    /// said that the tools changed, though they did not), or a URI (that resource changed).
    pub(crate) fn happen(&self, event: &str) {
        let Some(file) = &self.profile.together else { return self.apply(event, true) };
        // Every process of the server, this one too, finds it there.
        if let Ok(mut file) = fs::OpenOptions::new().create(true).append(true).open(file) {
            drop(file.write_all(format!("{event}\n").as_bytes()));
        }
    }

    fn apply(&self, event: &str, announced: bool) {
        let change = match event {
            "touch_tools" => {
                self.keep_tool(LATE_TOOL);
                TOOLS
            }
            "touch_prompts" => {
                self.offer.prompts.add(r#"{"name":"late","description":"Appeared while running"}"#);
                PROMPTS
            }
            "touch_resources" => {
                self.offer.resources.add(r#"{"uri":"note://late","name":"late"}"#);
                RESOURCES
            }
            "cry_wolf" => TOOLS,
            uri => Change::Updated(uri.to_owned()),
        };
        if announced {
            self.announce(change);
        }
    }

    /// Takes on, without a word, what happened before this process began; gives how much was read.
    pub(crate) fn catch_up(&self) -> usize {
        let happened = self.happened();
        happened.lines().for_each(|event| self.apply(event, false));
        happened.len()
    }

    /// Follows what happens to the other processes of this server, for ever.
    pub(crate) async fn follow(&self, mut read: usize) {
        loop {
            tokio::time::sleep(LOOK).await;
            let happened = self.happened();
            let new = happened.get(read..).unwrap_or_default();
            new.lines().for_each(|event| self.apply(event, true));
            read += new.len();
        }
    }

    /// Whole lines only.
    fn happened(&self) -> String {
        let file = self.profile.together.as_ref();
        let mut text = file.and_then(|file| fs::read_to_string(file).ok()).unwrap_or_default();
        text.truncate(text.rfind('\n').map_or(0, |end| end + 1));
        text
    }
}

/// How often the others are looked at.
const LOOK: Duration = Duration::from_millis(20);

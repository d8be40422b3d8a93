use gateway_domain::RawObject;

use super::{OPEN_BYTES, OPEN_LIMIT, Question};
use crate::RequestId;

/// The questions of one call that are not answered yet, in the order they came, under keys of ours.
#[derive(Debug, Default)]
pub struct Questions {
    minted: u64,
    open: Vec<(String, Question)>,
    bytes: usize,
}

impl Questions {
    /// Takes a question under the next key. A key is never used twice.
    ///
    /// # Errors
    /// The message that turns the question down: too many are open.
    pub fn add(&mut self, question: Question) -> Result<(), Vec<u8>> {
        let bytes = self.bytes.saturating_add(question.request().as_bytes().len());
        if self.open.len() >= OPEN_LIMIT || bytes > OPEN_BYTES {
            return Err(question.abandoned());
        }
        self.bytes = bytes;
        self.minted += 1;
        self.open.push((format!("q{}", self.minted), question));
        Ok(())
    }

    /// Whether nothing is open.
    pub fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    /// All that is open, as `inputRequests`; `None` if nothing is.
    pub fn requests(&self) -> Option<RawObject> {
        let members = self.open.iter().map(|(key, question)| format!(r#""{key}":{}"#, question.request()));
        let members = members.collect::<Vec<_>>().join(",");
        if members.is_empty() {
            return None;
        }
        // Each was parsed deeper inside than this; keys are told apart by their numbers.
        RawObject::parse(format!("{{{members}}}")).ok()
    }

    /// Takes a client's `inputResponses` and gives the messages that answer the server. What they do not answer
    /// with an object stays open, to be asked again; keys that are not open are passed over.
    pub fn answer(&mut self, responses: &RawObject) -> Vec<Vec<u8>> {
        let mut messages = Vec::new();
        self.open.retain(|(key, question)| {
            let answer = responses.get_object(key);
            messages.extend(answer.iter().map(|result| question.answered(result)));
            answer.is_none()
        });
        self.weigh();
        messages
    }

    /// Takes back a question that the server itself no longer wants answered.
    pub fn withdraw(&mut self, id: &RequestId) -> bool {
        let before = self.open.len();
        self.open.retain(|(_, question)| question.id() != id);
        self.weigh();
        self.open.len() < before
    }

    /// Takes out all that is open: nobody will answer it any more.
    pub fn drain(&mut self) -> impl Iterator<Item = Question> + use<> {
        self.bytes = 0;
        std::mem::take(&mut self.open).into_iter().map(|(_, question)| question)
    }

    fn weigh(&mut self) {
        self.bytes = self.open.iter().map(|(_, question)| question.request().as_bytes().len()).sum();
    }
}

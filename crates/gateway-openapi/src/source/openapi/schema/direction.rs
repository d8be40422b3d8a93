/// Whether a schema is for what is sent or for what is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Direction {
    /// What is sent to the API.
    Input,
    /// What it answers.
    Output,
}

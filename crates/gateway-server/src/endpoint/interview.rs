//! Questions to a client that has a session: a call that needs answers asks for them here (design §1).

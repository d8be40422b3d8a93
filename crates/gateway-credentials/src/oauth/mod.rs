//! Tokens of authorization servers, got by the gateway as their client.

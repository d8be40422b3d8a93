//! Headers of the client that the operator has passed on.

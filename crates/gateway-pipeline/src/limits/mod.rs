//! How often, and how many at once, by caller, tool and downstream.

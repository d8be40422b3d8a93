//! Secrets and patterns that neither side is shown (P-39 to P-43).

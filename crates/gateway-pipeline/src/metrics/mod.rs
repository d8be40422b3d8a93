//! Figures of calls and of the stages that they pass (P-66).

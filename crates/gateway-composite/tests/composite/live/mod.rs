//! Workflows in front of a live catalogue (C-11 to C-23, C-40, C-79, C-W9, C-W10, C-W21, C-W23).

mod calling;
mod fakes;
mod listing;
mod log;
mod rules;
mod status;
mod suspended;

//! What a model is shown of an answer.

mod charset;
mod content;
mod fields;
mod fit;
mod media;
mod presenter;
mod shape;

pub use self::shape::default_shape;
pub(crate) use self::{fields::Fields, media::MediaType, presenter::Presenter};

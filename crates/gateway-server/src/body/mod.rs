//! Bodies of HTTP messages: requests are read within bounds, responses written without copies.

mod request;
mod response;

pub(crate) use self::{
    request::read,
    response::{Held, ResponseBody, Resumption, Serving, Source},
};

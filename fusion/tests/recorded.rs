//! Recorded times: their text, and costs by them.

#[path = "recorded/costs.rs"]
mod costs;
#[path = "recorded/text.rs"]
mod text;

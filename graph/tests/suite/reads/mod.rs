//! What expressions read: indices, the elements at them, and how many of these count.

mod bounds;
mod counts;
mod gathers;
mod index;
mod indices;
mod slices;

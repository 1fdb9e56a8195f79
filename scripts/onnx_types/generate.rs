//! Writes the Rust types of ONNX's messages: `onnx-types ONNX.proto FOLDER`.

use std::error::Error;

use prost_types::field_descriptor_proto::Type;
use prost_types::{DescriptorProto, FieldDescriptorProto};

/// Texts that exporters write in other encodings than UTF-8, too. They are bytes, so that such models are read.
const BYTES: [&str; 6] = ["doc_string", "producer_name", "producer_version", "denotation", "overload", "value"];

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [proto, folder] = arguments.as_slice() else { return Err("usage: onnx-types ONNX.proto FOLDER".into()) };
    let path = std::path::Path::new(proto);
    let mut files = protox::compile([path], [path.parent().ok_or("the file has no folder")?])?;
    for file in &mut files.file {
        // An optional field of one value has its default where it is absent, as ONNX's own proto3 form of the file says.
        file.syntax = Some("proto3".to_owned());
        file.package = Some("onnx".to_owned());
        file.message_type.iter_mut().for_each(change);
        // No message has a field of them: the versions of the format, and an operator's status.
        file.enum_type.clear();
    }
    prost_build::Config::new()
        .bytes(["."])
        .disable_comments(["."])
        .out_dir(folder)
        .compile_fds(files)?;
    Ok(())
}

/// Makes texts bytes, in a message and those inside it.
fn change(message: &mut DescriptorProto) {
    let is_text = |field: &&mut FieldDescriptorProto| field.r#type() == Type::String && BYTES.contains(&field.name());
    message.field.iter_mut().filter(is_text).for_each(|field| field.set_type(Type::Bytes));
    message.field.iter_mut().for_each(|field| field.default_value = None);
    message.nested_type.iter_mut().for_each(change);
}


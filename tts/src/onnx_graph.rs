//! Cuts an ONNX model in two, so that its parts can run apart.
//!
//! An ONNX file is a protobuf message: a header and one graph of nodes, weights, inputs and outputs
//! (onnx/onnx.proto, `ModelProto`, `GraphProto`, `NodeProto`). Only what a cut needs is understood; nodes and weights are
//! copied as they are. Graphs with branches or loops are refused, because their bodies use tensors that no node names.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

/// Why a file cannot be cut.
pub(crate) type Refusal = String;

mod field {
    pub(super) const MODEL_GRAPH: u64 = 7;
    pub(super) const GRAPH_NODE: u64 = 1;
    pub(super) const GRAPH_NAME: u64 = 2;
    pub(super) const GRAPH_INITIALIZER: u64 = 5;
    pub(super) const GRAPH_INPUT: u64 = 11;
    pub(super) const GRAPH_OUTPUT: u64 = 12;
    pub(super) const NODE_INPUT: u64 = 1;
    pub(super) const NODE_OUTPUT: u64 = 2;
    pub(super) const NODE_OP_TYPE: u64 = 4;
    pub(super) const TENSOR_NAME: u64 = 8;
    pub(super) const VALUE_NAME: u64 = 1;
    pub(super) const VALUE_TYPE: u64 = 2;
}

/// One operation.
pub(crate) struct Node<'a> {
    pub(crate) inputs: Vec<&'a str>,
    pub(crate) outputs: Vec<&'a str>,
    pub(crate) op: &'a str,
    encoded: &'a [u8],
}

/// A model read for cutting; borrows the file's bytes.
pub(crate) struct Graph<'a> {
    pub(crate) nodes: Vec<Node<'a>>,
    // everything of the model but its graph, encoded
    header: Vec<&'a [u8]>,
    weights: HashMap<&'a str, &'a [u8]>,
    inputs: HashMap<&'a str, &'a [u8]>,
    outputs: HashMap<&'a str, &'a [u8]>,
}

/// One field of a message: its number, its content if it has a length, and all its bytes.
struct Field<'a> {
    number: u64,
    content: &'a [u8],
    encoded: &'a [u8],
}

impl<'a> Graph<'a> {
    /// Reads a model file.
    pub(crate) fn parse(file: &'a [u8]) -> Result<Graph<'a>, Refusal> {
        let mut header = Vec::new();
        let mut graph = None;
        for field in fields(file)? {
            if field.number == field::MODEL_GRAPH {
                graph = Some(field.content);
            } else {
                header.push(field.encoded);
            }
        }
        let graph = graph.ok_or("it holds no graph")?;
        let mut parsed = Graph {
            nodes: Vec::new(),
            header,
            weights: HashMap::new(),
            inputs: HashMap::new(),
            outputs: HashMap::new(),
        };
        for field in fields(graph)? {
            match field.number {
                field::GRAPH_NODE => parsed.nodes.push(node(&field)?),
                field::GRAPH_INITIALIZER => {
                    parsed.weights.insert(named(&field, field::TENSOR_NAME)?, field.content);
                }
                field::GRAPH_INPUT => {
                    parsed.inputs.insert(named(&field, field::VALUE_NAME)?, field.content);
                }
                field::GRAPH_OUTPUT => {
                    parsed.outputs.insert(named(&field, field::VALUE_NAME)?, field.content);
                }
                _ => {}
            }
        }
        Ok(parsed)
    }

    /// A model of its own that computes `outputs` and takes the tensors of `cut` as further inputs.
    ///
    /// Tensors that are no inputs or outputs of the whole model are declared as `f32` of any shape.
    pub(crate) fn extract(&self, cut: &[&str], outputs: &[&str]) -> Result<Vec<u8>, Refusal> {
        let producers: HashMap<&str, usize> =
            self.nodes.iter().enumerate().flat_map(|(i, node)| node.outputs.iter().map(move |o| (*o, i))).collect();
        let mut needed_nodes = HashSet::new();
        let mut needed_weights = HashSet::new();
        let mut needed_inputs = HashSet::new();
        let mut open: Vec<&str> = outputs.to_vec();
        while let Some(tensor) = open.pop() {
            if tensor.is_empty() {
                continue;
            }
            if cut.contains(&tensor) || self.inputs.contains_key(tensor) && !self.weights.contains_key(tensor) {
                needed_inputs.insert(tensor);
            } else if self.weights.contains_key(tensor) {
                needed_weights.insert(tensor);
            } else if let Some(&index) = producers.get(tensor) {
                if needed_nodes.insert(index) {
                    let node = &self.nodes[index];
                    if matches!(node.op, "If" | "Loop" | "Scan") {
                        return Err(format!("it branches or loops in an operation {}", node.op));
                    }
                    open.extend(&node.inputs);
                }
            } else {
                return Err(format!("nothing computes the tensor {tensor}"));
            }
        }

        let mut graph = Vec::new();
        for (index, node) in self.nodes.iter().enumerate() {
            if needed_nodes.contains(&index) {
                graph.extend_from_slice(node.encoded);
            }
        }
        write_bytes(&mut graph, field::GRAPH_NAME, b"part");
        for (name, weight) in &self.weights {
            if needed_weights.contains(name) {
                write_bytes(&mut graph, field::GRAPH_INITIALIZER, weight);
            }
        }
        for name in needed_inputs {
            write_value(&mut graph, field::GRAPH_INPUT, name, self.inputs.get(name).copied());
        }
        for name in outputs {
            write_value(&mut graph, field::GRAPH_OUTPUT, name, self.outputs.get(name).copied());
        }
        let mut model = self.header.concat();
        write_bytes(&mut model, field::MODEL_GRAPH, &graph);
        Ok(model)
    }
}

fn node<'a>(field: &Field<'a>) -> Result<Node<'a>, Refusal> {
    let mut node = Node { inputs: Vec::new(), outputs: Vec::new(), op: "", encoded: field.encoded };
    for part in fields(field.content)? {
        match part.number {
            field::NODE_INPUT => node.inputs.push(text(part.content)?),
            field::NODE_OUTPUT => node.outputs.push(text(part.content)?),
            field::NODE_OP_TYPE => node.op = text(part.content)?,
            _ => {}
        }
    }
    Ok(node)
}

fn named<'a>(message: &Field<'a>, number: u64) -> Result<&'a str, Refusal> {
    let name = fields(message.content)?.into_iter().find(|f| f.number == number);
    name.map_or(Err("a tensor has no name".into()), |f| text(f.content))
}

fn text(bytes: &[u8]) -> Result<&str, Refusal> {
    std::str::from_utf8(bytes).map_err(|_| "a name is not UTF-8".into())
}

fn fields(message: &[u8]) -> Result<Vec<Field<'_>>, Refusal> {
    let cut_short = || Refusal::from("it is cut short or not an ONNX file");
    let mut found = Vec::new();
    let mut at = 0;
    while at < message.len() {
        let start = at;
        let key = varint(message, &mut at).ok_or_else(cut_short)?;
        let content: Range<usize> = match key & 7 {
            0 => {
                varint(message, &mut at).ok_or_else(cut_short)?;
                at..at
            }
            1 => at..at + 8,
            5 => at..at + 4,
            2 => {
                let length = varint(message, &mut at).ok_or_else(cut_short)?;
                let end = usize::try_from(length).ok().and_then(|n| at.checked_add(n)).ok_or_else(cut_short)?;
                at..end
            }
            other => return Err(format!("it has a field of unknown kind {other}")),
        };
        at = content.end;
        let encoded = message.get(start..at).ok_or_else(cut_short)?;
        found.push(Field { number: key >> 3, content: &message[content], encoded });
    }
    Ok(found)
}

fn varint(bytes: &[u8], at: &mut usize) -> Option<u64> {
    let mut value = 0_u64;
    for shift in (0..64).step_by(7) {
        let byte = *bytes.get(*at)?;
        *at += 1;
        value |= u64::from(byte & 0x7F) << shift;
        if byte < 0x80 {
            return Some(value);
        }
    }
    None
}

fn write_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push((value & 0x7F) as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

fn write_bytes(out: &mut Vec<u8>, number: u64, content: &[u8]) {
    write_varint(out, number << 3 | 2);
    write_varint(out, content.len() as u64);
    out.extend_from_slice(content);
}

/// Declares an input or output: as the whole model did, else as `f32` without a shape.
fn write_value(out: &mut Vec<u8>, number: u64, name: &str, declared: Option<&[u8]>) {
    // TypeProto { tensor_type: Tensor { elem_type: FLOAT } }
    const F32_TENSOR: [u8; 4] = [0x0A, 0x02, 0x08, 0x01];
    match declared {
        Some(value) => write_bytes(out, number, value),
        None => {
            let mut value = Vec::new();
            write_bytes(&mut value, field::VALUE_NAME, name.as_bytes());
            write_bytes(&mut value, field::VALUE_TYPE, &F32_TENSOR);
            write_bytes(out, number, &value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(parts: &[(u64, &[u8])]) -> Vec<u8> {
        let mut out = Vec::new();
        for (number, content) in parts {
            write_bytes(&mut out, *number, content);
        }
        out
    }

    /// x → A → y → B → z, with a weight for each.
    fn chain() -> Vec<u8> {
        let a = message(&[(1, b"x"), (1, b"wa"), (2, b"y"), (4, b"A")]);
        let b = message(&[(1, b"y"), (1, b"wb"), (2, b"z"), (4, b"B")]);
        let [wa, wb] = [b"wa", b"wb"].map(|name| message(&[(8, name)]));
        let [x, z] = [b"x", b"z"].map(|name| message(&[(1, name)]));
        let graph = message(&[(1, &a), (1, &b), (5, &wa), (5, &wb), (11, &x), (12, &z)]);
        message(&[(2, b"maker"), (7, &graph)])
    }

    #[test]
    fn a_chain_is_cut_where_asked() {
        let file = chain();
        let whole = Graph::parse(&file).unwrap();
        let first = whole.extract(&[], &["y"]).unwrap();
        let first = Graph::parse(&first).unwrap();
        assert_eq!(first.nodes.iter().map(|n| n.op).collect::<Vec<_>>(), ["A"]);
        assert!(first.weights.contains_key("wa") && !first.weights.contains_key("wb"));
        let second = whole.extract(&["y"], &["z"]).unwrap();
        let second = Graph::parse(&second).unwrap();
        assert_eq!(second.nodes.iter().map(|n| n.op).collect::<Vec<_>>(), ["B"]);
        assert!(second.inputs.contains_key("y") && !second.inputs.contains_key("x"));
        assert!(whole.extract(&[], &["nowhere"]).is_err());
    }

    #[test]
    fn every_truncation_is_refused_or_read_without_panic() {
        let file = chain();
        for end in 0..file.len() {
            if let Ok(graph) = Graph::parse(&file[..end]) {
                let _ = graph.extract(&[], &["z"]);
            }
        }
        assert!(Graph::parse(&[0xFF; 32]).is_err());
    }
}

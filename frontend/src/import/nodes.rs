//! The walk over the nodes in order: every node becomes an operator, a constant, or an entry among the unsupported.

use warpweave_graph::ops::{AttributeReader, Op};

use super::control::ControlFlow;
use super::error::{ImportError, UnsupportedNode};
use super::flatten::{FlatNode, SymbolId};
use super::reason::Reason;
use super::sequence::SequenceOperator;
use super::walk::{Refusal, State, Walk};
use super::{constant, legacy, order};
use crate::attributes;
use crate::obstacle::Obstacle;

impl<'m> Walk<'m> {
    /// Sorts and takes nodes; `given` symbols are defined outside.
    pub(super) fn nodes(&mut self, nodes: Vec<FlatNode<'m>>, given: &[SymbolId]) -> Result<(), ImportError> {
        let nodes = order::sort(nodes, given, &self.flattening.symbols)?;
        nodes.iter().try_for_each(|node| self.node(node))
    }

    /// Takes the next node.
    fn node(&mut self, node: &FlatNode<'m>) -> Result<(), ImportError> {
        let reason = match self.try_node(node) {
            Ok(()) => return Ok(()),
            Err(Refusal::Fatal(error)) => return Err(error),
            Err(Refusal::Unsupported(reason)) => reason,
        };
        let FlatNode { name, domain, operator, opset, .. } = node;
        self.unsupported.push(UnsupportedNode {
            node: name.clone(),
            domain: domain.clone(),
            operator: operator.clone(),
            opset: opset.unwrap_or(0),
            reason: reason.text,
            obstacle: reason.obstacle,
        });
        Ok(())
    }

    fn try_node(&mut self, node: &FlatNode<'m>) -> Result<(), Refusal> {
        let undeclared = || {
            Reason::new(
                Obstacle::of_undeclared(&node.domain),
                format!("no opset is declared for domain `{}`", node.domain),
            )
        };
        let opset = node.opset.ok_or_else(undeclared)?;
        if let Some(control) = ControlFlow::of(node) {
            return control.fold(self, node);
        }
        let attributes = node
            .attributes
            .iter()
            .map(|&(name, value)| Ok((name.to_owned(), attributes::read(name, value, &mut self.weights)?)));
        let mut attributes = attributes.collect::<Result<Vec<_>, Reason>>()?;
        let aligned = legacy::align(self, node, &mut attributes);
        let inputs = aligned.map_err(|text| Reason::new(Obstacle::Contradiction, text))?;
        let mut reader = AttributeReader::new(attributes, opset);
        if node.domain.is_empty() && node.operator == constant::NAME {
            let tensor = constant::value(&mut reader).map_err(Reason::from)?;
            if let Some(&Some(output)) = node.outputs.first() {
                self.define(output, State::Constant(tensor));
            }
            return Ok(());
        }
        if let Some(operator) = SequenceOperator::of(node) {
            return operator.take(self, node, &mut reader);
        }
        let op = Op::import(&node.domain, &node.operator, &mut reader);
        let op = op.map_err(|error| Reason::of_operator(&node.domain, &error))?;
        Ok(self.apply(&node.name, op, &inputs, &node.outputs)?)
    }
}

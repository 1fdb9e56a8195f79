//! Strongly connected components.

/// The strongly connected components of a graph, given the successors of each node (Tarjan 1972).
pub fn components(edges: &[Vec<usize>]) -> Vec<Vec<usize>> {
    let mut search = Search { edges, order: vec![None; edges.len()], low: vec![0; edges.len()], ..Search::default() };
    for node in 0..edges.len() {
        if search.order[node].is_none() {
            search.visit(node);
        }
    }
    search.found
}

#[derive(Default)]
struct Search<'a> {
    edges: &'a [Vec<usize>],
    /// When each node was reached.
    order: Vec<Option<usize>>,
    /// The earliest node that each is known to reach.
    low: Vec<usize>,
    reached: usize,
    stack: Vec<usize>,
    found: Vec<Vec<usize>>,
}

impl Search<'_> {
    fn visit(&mut self, node: usize) {
        let own = self.reached;
        self.reached += 1;
        (self.order[node], self.low[node]) = (Some(own), own);
        self.stack.push(node);
        for &next in &self.edges[node] {
            match self.order[next] {
                None => {
                    self.visit(next);
                    self.low[node] = self.low[node].min(self.low[next]);
                }
                Some(order) if self.stack.contains(&next) => self.low[node] = self.low[node].min(order),
                Some(_) => (),
            }
        }
        if self.low[node] == own {
            let start = self.stack.iter().position(|other| *other == node).expect("a node stands on the stack");
            self.found.push(self.stack.split_off(start));
        }
    }
}

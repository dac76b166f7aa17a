//! The messages of each algorithm, and what each waits for.
//!
//! The ring is that of Patarasuk and Yuan (JPDC 2009), and exchanges are those of Thakur, Rabenseifner and Gropp
//! (IJHPCA 2005). Two trees are explained by Sanders, Speck and Träff (Parallel Computing 2009). Their form is that of
//! NCCL (`src/graph/trees.cc`).

use std::collections::HashMap;

use super::{Algorithm, Operation};
use crate::tasks::TaskGraphBuilder;

/// An operation of ranks, whose tasks are added to a graph.
pub(crate) struct Exchange<'a> {
    /// The graph.
    pub builder: &'a mut TaskGraphBuilder,
    /// Ranks in the graph that take part; in the operation they count from 0.
    pub members: &'a [u32],
    /// Bytes of the whole array.
    pub bytes: u64,
    /// Number of parts of messages along trees and chains.
    pub chunks: u32,
}

/// The tasks for which the next step of each rank waits.
type Waits = Vec<Vec<u32>>;

impl Exchange<'_> {
    /// Returns the number of messages.
    pub fn messages(operation: Operation, algorithm: Algorithm, ranks: u32, chunks: u32) -> u64 {
        let (n, chunks) = (u64::from(ranks), u64::from(chunks));
        let core = 1_u64 << n.ilog2();
        let (steps, surplus) = (u64::from(n.ilog2()), n - core);
        match (operation, algorithm) {
            (Operation::AllReduce, Algorithm::HalvingDoubling) => 2 * core * steps + 2 * surplus,
            (Operation::AllReduce, Algorithm::RecursiveDoubling) => core * steps + 2 * surplus,
            (Operation::AllReduce, Algorithm::BinomialTree) => 2 * (n - 1) * chunks,
            (Operation::AllReduce, Algorithm::DoubleBinaryTree) => 4 * (n - 1) * chunks,
            (Operation::AllReduce, _) => 2 * n * (n - 1),
            (Operation::Broadcast, _) => (n - 1) * chunks,
            (Operation::ReduceScatter | Operation::AllGather | Operation::AllToAll, _) => n * (n - 1),
        }
    }

    /// Returns the number of ranks.
    fn ranks(&self) -> u32 {
        self.members.len() as u32
    }

    /// Adds the tasks of an operation.
    pub fn add(&mut self, operation: Operation, algorithm: Algorithm) {
        let n = self.ranks();
        match (operation, algorithm) {
            (Operation::AllReduce, Algorithm::HalvingDoubling) => {
                self.all_reduce_core(Self::halving_doubling);
            }
            (Operation::AllReduce, Algorithm::RecursiveDoubling) => {
                self.all_reduce_core(Self::recursive_doubling);
            }
            (Operation::AllReduce, Algorithm::BinomialTree) => self.binomial_all_reduce(),
            (Operation::AllReduce, Algorithm::DoubleBinaryTree) => self.double_binary_tree(),
            (Operation::AllReduce, _) => self.ring(2 * (n - 1)),
            (Operation::ReduceScatter | Operation::AllGather, _) => self.ring(n - 1),
            (Operation::Broadcast, Algorithm::Chain) => self.chain(),
            (Operation::Broadcast, _) => {
                let ready = vec![Vec::new(); self.chunks as usize];
                self.binomial_broadcast(ready);
            }
            (Operation::AllToAll, _) => {
                let size = self.bytes;
                let bytes = |_, to| Self::part(size, to, n);
                self.all_to_all(algorithm != Algorithm::AtOnce, bytes);
            }
        }
    }

    /// Returns the bytes of the n-th of several parts of `bytes`, which differ by a byte at most.
    fn part(bytes: u64, n: u32, parts: u32) -> u64 {
        let [begin, end] = [n, n + 1].map(|i| u128::from(bytes) * u128::from(i) / u128::from(parts));
        ((end - begin) as u64).max(1)
    }

    /// Adds a message that waits for tasks of its sender. Returns the tasks that send and receive it.
    fn message(&mut self, from: u32, to: u32, bytes: u64, waits: &[u32]) -> (u32, u32) {
        let (send, receive) =
            self.builder
                .message(self.members[from as usize], self.members[to as usize], bytes);
        for &before in waits {
            self.builder.after(send, before);
        }
        (send, receive)
    }

    /// Step s: rank r sends part r - s to rank r + 1 after it has received that part in step s - 1.
    fn ring(&mut self, steps: u32) {
        let n = self.ranks();
        let mut waits: Waits = vec![Vec::new(); n as usize];
        for step in 0..steps {
            let mut next: Waits = vec![Vec::new(); n as usize];
            for rank in 0..n {
                let to = (rank + 1) % n;
                let bytes = Self::part(self.bytes, (rank + 2 * n - step) % n, n);
                let (_, received) = self.message(rank, to, bytes, &waits[rank as usize]);
                next[to as usize].push(received);
            }
            waits = next;
        }
    }

    /// Runs an algorithm for 2^k ranks. The ranks beyond give their data to a partner before, and get the result after.
    fn all_reduce_core(&mut self, core: impl FnOnce(&mut Self, u32, &mut Waits)) {
        let ranks = 1 << self.ranks().ilog2();
        let mut waits: Waits = vec![Vec::new(); ranks as usize];
        for surplus in ranks..self.ranks() {
            let partner = surplus - ranks;
            let (_, received) = self.message(surplus, partner, self.bytes, &[]);
            waits[partner as usize].push(received);
        }
        core(self, ranks, &mut waits);
        for surplus in ranks..self.ranks() {
            let partner = surplus - ranks;
            self.message(partner, surplus, self.bytes, &waits[partner as usize]);
        }
    }

    /// All ranks below `ranks` exchange data with a partner at this distance.
    fn exchange(&mut self, ranks: u32, distance: u32, bytes: u64, waits: &mut Waits) {
        let mut next: Waits = vec![Vec::new(); ranks as usize];
        for rank in 0..ranks {
            let to = rank ^ distance;
            let (_, received) = self.message(rank, to, bytes, &waits[rank as usize]);
            next[to as usize].push(received);
        }
        *waits = next;
    }

    /// Step i: ranks exchange 1 / 2^(i+1) of the array with rank r XOR n / 2^(i+1); then the same backwards.
    fn halving_doubling(&mut self, ranks: u32, waits: &mut Waits) {
        let steps = ranks.ilog2();
        let bytes = |exchange: &Self, step: u32| (exchange.bytes >> (step + 1)).max(1);
        for step in 0..steps {
            self.exchange(ranks, ranks >> (step + 1), bytes(self, step), waits);
        }
        for step in (0..steps).rev() {
            self.exchange(ranks, ranks >> (step + 1), bytes(self, step), waits);
        }
    }

    /// Step i: ranks exchange the whole array with rank r XOR 2^i.
    fn recursive_doubling(&mut self, ranks: u32, waits: &mut Waits) {
        for step in 0..ranks.ilog2() {
            self.exchange(ranks, 1 << step, self.bytes, waits);
        }
    }

    /// Returns the children of a rank in the binomial tree of rank 0, the farthest one first.
    fn binomial_children(&self, rank: u32) -> Vec<u32> {
        let lowest = if rank == 0 {
            u32::MAX
        } else {
            rank & rank.wrapping_neg()
        };
        let distances = (0..32)
            .rev()
            .map(|bit| 1_u32 << bit)
            .filter(|&distance| distance < lowest);
        distances
            .filter_map(|distance| rank.checked_add(distance))
            .filter(|&child| child < self.ranks())
            .collect()
    }

    /// Each rank adds what its children send, sends the sum to its parent, and forwards the result.
    fn binomial_all_reduce(&mut self) {
        let mut ready = Vec::new();
        let mut last_sends = HashMap::new();
        for chunk in 0..self.chunks {
            let bytes = Self::part(self.bytes, chunk, self.chunks);
            let mut waits: Waits = vec![Vec::new(); self.ranks() as usize];
            // Children have higher numbers than their parents.
            for rank in (1..self.ranks()).rev() {
                let parent = rank & (rank - 1);
                let mut before = std::mem::take(&mut waits[rank as usize]);
                before.extend(last_sends.get(&rank));
                let (send, received) = self.message(rank, parent, bytes, &before);
                last_sends.insert(rank, send);
                waits[parent as usize].push(received);
            }
            ready.push(std::mem::take(&mut waits[0]));
        }
        self.binomial_broadcast(ready);
    }

    /// Each rank forwards the array to its children, one after another. `ready` has the tasks of rank 0 for which each
    /// part waits.
    fn binomial_broadcast(&mut self, ready: Vec<Vec<u32>>) {
        let mut last_sends: HashMap<u32, u32> = HashMap::new();
        for (chunk, ready) in (0..).zip(ready) {
            let bytes = Self::part(self.bytes, chunk, self.chunks);
            let mut waits: Waits = vec![Vec::new(); self.ranks() as usize];
            waits[0] = ready;
            for rank in 0..self.ranks() {
                for child in self.binomial_children(rank) {
                    let mut before = waits[rank as usize].clone();
                    before.extend(last_sends.get(&rank));
                    let (send, received) = self.message(rank, child, bytes, &before);
                    last_sends.insert(rank, send);
                    waits[child as usize].push(received);
                }
            }
        }
    }

    /// Rank r sends each part to rank r + 1 once it has the part and the previous one is sent.
    fn chain(&mut self) {
        let mut last_sends: Vec<Option<u32>> = vec![None; self.ranks() as usize];
        for chunk in 0..self.chunks {
            let bytes = Self::part(self.bytes, chunk, self.chunks);
            let mut has = None;
            for rank in 0..self.ranks() - 1 {
                let last_send = &mut last_sends[rank as usize];
                let before: Vec<u32> = last_send.iter().copied().chain(has).collect();
                let (send, received) = self.message(rank, rank + 1, bytes, &before);
                last_sends[rank as usize] = Some(send);
                has = Some(received);
            }
        }
    }

    /// Both trees reduce their half of the array part by part, and broadcast the result.
    fn double_binary_tree(&mut self) {
        let n = self.ranks();
        let half = self.bytes / 2;
        for (tree, bytes) in [(0, self.bytes - half), (1, half)] {
            let (root, parents) = tree_parents(n, tree);
            let order = top_down(root, &parents);
            let mut last_sends: HashMap<(u32, u32), u32> = HashMap::new();
            for chunk in 0..self.chunks {
                let bytes = Self::part(bytes, chunk, self.chunks);
                let mut waits: Waits = vec![Vec::new(); n as usize];
                for &rank in order.iter().rev() {
                    let Some(parent) = parents[rank as usize] else {
                        continue;
                    };
                    let before = std::mem::take(&mut waits[rank as usize]);
                    let received = self.message_in_turn(rank, parent, bytes, before, &mut last_sends);
                    waits[parent as usize].push(received);
                }
                for &rank in &order {
                    let Some(parent) = parents[rank as usize] else {
                        continue;
                    };
                    let before = waits[parent as usize].clone();
                    let received = self.message_in_turn(parent, rank, bytes, before, &mut last_sends);
                    waits[rank as usize].push(received);
                }
            }
        }
    }

    /// Adds a message that also waits until the previous one to the same rank is sent. Returns the task that receives it.
    fn message_in_turn(
        &mut self,
        from: u32,
        to: u32,
        bytes: u64,
        mut before: Vec<u32>,
        last_sends: &mut HashMap<(u32, u32), u32>,
    ) -> u32 {
        before.extend(last_sends.get(&(from, to)));
        let (send, received) = self.message(from, to, bytes, &before);
        last_sends.insert((from, to), send);
        received
    }

    /// Step k: rank r sends `bytes(r, r + k)` to rank r + k and receives from rank r - k; the next step follows after both.
    /// A message of 0 bytes is not sent.
    pub fn all_to_all(&mut self, in_steps: bool, bytes: impl Fn(u32, u32) -> u64) {
        let n = self.ranks();
        let mut waits: Waits = vec![Vec::new(); n as usize];
        for step in 1..n {
            let mut next: Waits = vec![Vec::new(); n as usize];
            for rank in 0..n {
                let to = (rank + step) % n;
                let before = if in_steps { &waits[rank as usize][..] } else { &[] };
                let bytes = bytes(rank, to);
                if bytes == 0 {
                    next[rank as usize].extend(before);
                    continue;
                }
                let (send, received) = self.message(rank, to, bytes, before);
                next[rank as usize].push(send);
                next[to as usize].push(received);
            }
            waits = next;
        }
    }
}

/// Returns the root of NCCL's first (0) or second (1) tree of `n` ranks, and the parent of each rank.
fn tree_parents(n: u32, tree: u32) -> (u32, Vec<Option<u32>>) {
    let parent = |rank: u32| {
        let bit = rank & rank.wrapping_neg();
        let up = (rank ^ bit) | (bit << 1);
        (rank > 0).then_some(if up < n { up } else { rank ^ bit })
    };
    // The second tree is the first one, mirrored for even n and shifted for odd n.
    let place = |rank: u32| match tree {
        0 => rank,
        _ if n.is_multiple_of(2) => n - 1 - rank,
        _ => (rank + 1) % n,
    };
    let mut parents = vec![None; n as usize];
    for rank in 0..n {
        parents[place(rank) as usize] = parent(rank).map(place);
    }
    (place(0), parents)
}

/// Returns all ranks of a tree, parents before their children.
fn top_down(root: u32, parents: &[Option<u32>]) -> Vec<u32> {
    let mut children: Vec<Vec<u32>> = vec![Vec::new(); parents.len()];
    for (rank, parent) in (0..).zip(parents) {
        if let Some(parent) = parent {
            children[*parent as usize].push(rank);
        }
    }
    let mut order = vec![root];
    let mut next = 0;
    while let Some(&rank) = order.get(next) {
        order.extend(&children[rank as usize]);
        next += 1;
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_trees_of_six_ranks_are_those_of_nccl() {
        let edges = |tree| {
            let (root, parents) = tree_parents(6, tree);
            let edges = (0..)
                .zip(&parents)
                .filter_map(|(rank, parent)| Some(((*parent)?, rank)));
            let mut edges: Vec<(u32, u32)> = edges.collect();
            edges.sort_unstable();
            (root, edges)
        };
        assert_eq!(edges(0), (0, vec![(0, 4), (2, 1), (2, 3), (4, 2), (4, 5)]));
        assert_eq!(edges(1), (5, vec![(1, 0), (1, 3), (3, 2), (3, 4), (5, 1)]));
    }

    #[test]
    fn every_tree_reaches_every_rank() {
        for n in 2..200 {
            for tree in [0, 1] {
                let (root, parents) = tree_parents(n, tree);
                let mut order = top_down(root, &parents);
                order.sort_unstable();
                assert_eq!(order, (0..n).collect::<Vec<_>>(), "tree {tree} of {n}");
            }
        }
    }

    #[test]
    fn all_algorithms_have_the_number_of_messages_that_is_checked() {
        for operation in [
            Operation::AllReduce,
            Operation::ReduceScatter,
            Operation::AllGather,
            Operation::Broadcast,
            Operation::AllToAll,
        ] {
            for &algorithm in operation.algorithms() {
                for ranks in 2..40 {
                    let mut builder = TaskGraphBuilder::new(ranks);
                    let members: Vec<u32> = (0..ranks).collect();
                    Exchange {
                        builder: &mut builder,
                        members: &members,
                        bytes: 1_000,
                        chunks: 3,
                    }
                    .add(operation, algorithm);
                    let expected = Exchange::messages(operation, algorithm, ranks, 3);
                    let given = builder.message_count() as u64;
                    assert_eq!(given, expected, "{operation:?} {algorithm:?} {ranks}");
                    builder.build().unwrap();
                }
            }
        }
    }
}

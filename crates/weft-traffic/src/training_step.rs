//! Steps of training a model: computing of layers, and operations of groups of ranks between and next to it.
//!
//! Ranks of a tensor-parallel group are neighbours, then come data-parallel ranks, and then the stages of the pipeline. The
//! schedule "one-forward-one-backward" is that of Narayanan et al. (SC 2021), "all-forward" that of Huang et al., "`GPipe`"
//! (`NeurIPS` 2019).

use std::collections::HashMap;
use std::sync::Arc;

use rand::seq::index::sample;
use rand_distr::{Distribution, LogNormal};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use weft_spec::{Size, SpecError, Time, refuse};

use crate::closed_loop::check_start_before_stop;
use crate::collective::{Algorithm, Exchange, Operation, Placement, RankSequences, place_ranks};
use crate::random::RngStreams;
use crate::tasks::{DependentFlows, JobOptions, JobSummary, TaskGraph};
use crate::{
    Connections, FlowGenerator, HostSet, MAX_FLOWS, OperationFacts, Pattern, PatternContext, SendDone,
};

/// Steps of training a model. Each message is a flow of its own, which opens when the computing and the messages before it are done.
/// Each step is a job.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Training {
    /// Number of layers of the model. The stages of the pipeline have equal numbers of layers.
    #[schemars(range(min = 1))]
    pub layers: u32,
    /// Time for which a rank computes a micro-batch forwards in a layer.
    pub forward: Time,
    /// Time for which a rank computes a micro-batch backwards in a layer.
    pub backward: Time,
    /// Time for which a rank updates its parameters at the end of a step.
    #[serde(default)]
    pub update: Time,
    /// Number of micro-batches per step.
    #[serde(default = "weft_spec::default_number::<1>")]
    #[schemars(range(min = 1))]
    pub micro_batches: u32,
    /// Number of steps.
    #[serde(default = "weft_spec::default_number::<1>")]
    #[schemars(range(min = 1))]
    pub steps: u32,
    /// Number of ranks; by default as many as `hosts`. Those that are left after the division by `tensor_ranks` and `stages` are
    /// data-parallel.
    #[schemars(range(min = 2))]
    pub ranks: Option<u32>,
    /// Hosts on which the ranks run, one rank per host.
    #[serde(default)]
    pub hosts: HostSet,
    /// Assignment of ranks to `hosts`.
    #[serde(default)]
    pub placement: Placement,
    /// Ranks per tensor-parallel group. They are neighbours, then come data-parallel ranks, then stages.
    #[serde(default = "weft_spec::default_number::<1>")]
    #[schemars(range(min = 1))]
    pub tensor_ranks: u32,
    /// Bytes that a tensor-parallel group all-reduces after each half of a layer, forwards and backwards. Computing waits for
    /// it.
    pub tensor_size: Option<Size>,
    /// Bytes of the gradients of a layer at a rank. Data-parallel ranks all-reduce them after the last micro-batch.
    pub gradient_size: Option<Size>,
    /// Whether the gradients of a layer are all-reduced while earlier layers compute backwards. Otherwise they wait until the rank
    /// has computed all of them.
    #[serde(default = "default_overlap")]
    pub overlap: bool,
    /// Number of stages of the pipeline.
    #[serde(default = "weft_spec::default_number::<1>")]
    #[schemars(range(min = 1))]
    pub stages: u32,
    /// Bytes that a rank sends to the next stage per micro-batch, and to the previous stage backwards. Computing goes on
    /// meanwhile.
    pub activation_size: Option<Size>,
    /// Order in which a stage computes micro-batches.
    #[serde(default)]
    pub schedule: Schedule,
    /// Ranks per expert-parallel group, a divisor of the number of data-parallel ranks.
    #[serde(default = "weft_spec::default_number::<1>")]
    #[schemars(range(min = 1))]
    pub expert_ranks: u32,
    /// Bytes of the tokens of a rank in a layer. An expert-parallel group sends them to their experts before the second half of a
    /// layer and back after it, forwards and backwards. Computing waits for it.
    pub expert_size: Option<Size>,
    /// Number of ranks to which each token goes, which are drawn for each token, layer and micro-batch. By default each rank sends an
    /// equal part of its tokens to each rank.
    #[schemars(range(min = 1))]
    pub top_k: Option<u32>,
    /// Number of tokens of a rank, for `top_k`.
    #[serde(default = "weft_spec::default_number::<1_024>")]
    #[schemars(range(min = 1))]
    pub tokens: u32,
    /// Algorithm of all-reduces.
    pub algorithm: Option<Algorithm>,
    /// Ranks that compute more slowly than others.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stragglers: Vec<u32>,
    /// Ratio of the time for which stragglers compute to that of other ranks.
    #[serde(default = "default_straggler_factor")]
    #[schemars(range(min = 1.0, max = 1000.0))]
    pub straggler_factor: f64,
    /// Standard deviation of computing times, as a fraction of their mean. They are drawn from a log-normal distribution.
    #[serde(default)]
    #[schemars(range(min = 0.0, max = 10.0))]
    pub compute_deviation: f64,
    /// Event at which a message counts as sent, for tasks that wait.
    #[serde(default)]
    pub send_done: SendDone,
    /// Use of connections by messages.
    #[serde(default)]
    pub connections: Connections,
    /// Time at which the ranks begin.
    #[serde(default)]
    pub start: Time,
}

/// Order in which a stage of a pipeline computes micro-batches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(inline)]
pub enum Schedule {
    /// Forwards and backwards in turn, after as many micro-batches forwards as there are later stages.
    #[default]
    OneForwardOneBackward,
    /// All micro-batches forwards, and then all backwards.
    AllForward,
}

fn default_overlap() -> bool {
    true
}

fn default_straggler_factor() -> f64 {
    2.0
}

/// Maximum number of tokens that are drawn.
const MAX_TOKENS: u64 = 1 << 30;

/// Maximum number of computations.
const MAX_COMPUTATIONS: u64 = 1 << 26;

/// A direction of computing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pass {
    Forward,
    Backward,
}

impl Pass {
    fn name(self) -> &'static str {
        match self {
            Self::Forward => "forward",
            Self::Backward => "backward",
        }
    }
}

/// A layer of the model in a direction.
#[derive(Clone, Copy, Debug)]
struct LayerPass {
    stage: u32,
    /// Number of the layer in its stage.
    layer: u32,
    pass: Pass,
}

impl Schedule {
    /// Returns the passes of a stage in their order, each with its micro-batch.
    fn passes(self, stage: u32, stages: u32, micro_batches: u32) -> Vec<(Pass, u32)> {
        let ahead = match self {
            Self::OneForwardOneBackward => (stages - 1 - stage).min(micro_batches),
            Self::AllForward => micro_batches,
        };
        let mut passes: Vec<_> = (0..ahead).map(|n| (Pass::Forward, n)).collect();
        for n in 0..micro_batches {
            if ahead + n < micro_batches {
                passes.push((Pass::Forward, ahead + n));
            }
            passes.push((Pass::Backward, n));
        }
        passes
    }
}

/// The groups of ranks.
#[derive(Clone, Copy, Debug)]
struct Groups {
    tensor: u32,
    data: u32,
    stages: u32,
    experts: u32,
}

impl Groups {
    fn rank(self, stage: u32, data: u32, tensor: u32) -> u32 {
        (stage * self.data + data) * self.tensor + tensor
    }

    fn per_stage(self) -> u32 {
        self.data * self.tensor
    }

    fn ranks_of_stage(self, stage: u32) -> std::ops::Range<u32> {
        stage * self.per_stage()..(stage + 1) * self.per_stage()
    }

    fn tensor_groups(self, stage: u32) -> Vec<Vec<u32>> {
        let group = |data| (0..self.tensor).map(|t| self.rank(stage, data, t)).collect();
        (0..self.data).map(group).collect()
    }

    fn data_groups(self, stage: u32) -> Vec<Vec<u32>> {
        let group = |tensor| (0..self.data).map(|d| self.rank(stage, d, tensor)).collect();
        (0..self.tensor).map(group).collect()
    }

    fn expert_groups(self, stage: u32) -> Vec<Vec<u32>> {
        let of_data = self.data_groups(stage);
        let groups = of_data
            .iter()
            .flat_map(|ranks| ranks.chunks(self.experts as usize));
        groups.map(<[u32]>::to_vec).collect()
    }
}

/// The messages between stages in a step: the tasks that send and receive, by receiving rank, direction and micro-batch.
type StageMessages = HashMap<(u32, bool, u32), (u32, u32)>;

/// The graph of all steps under construction.
struct Steps<'a> {
    spec: &'a Training,
    groups: Groups,
    algorithm: Algorithm,
    sequences: RankSequences,
    streams: RngStreams,
    /// Distribution of the factors of computing times.
    factors: Option<LogNormal<f64>>,
    /// Random numbers of computing times.
    rng: rand_xoshiro::Xoshiro256PlusPlus,
}

impl Steps<'_> {
    fn compute(&mut self, rank: u32, time: Time) {
        let mut factor = 1.0;
        if self.spec.stragglers.contains(&rank) {
            factor *= self.spec.straggler_factor;
        }
        if let Some(factors) = &self.factors {
            factor *= factors.sample(&mut self.rng);
        }
        let time = if factor == 1.0 {
            time
        } else {
            Time((time.0 as f64 * factor).round() as u64)
        };
        self.sequences.compute(rank, time);
    }

    /// Adds a half of a layer at all ranks of a stage.
    fn half(&mut self, stage: u32, time: Time) {
        for rank in self.groups.ranks_of_stage(stage) {
            self.compute(rank, time);
        }
    }

    /// Returns the facts of an operation of a group.
    fn facts(&self, at: LayerPass, operation: Operation, group: &str, bytes: u64) -> OperationFacts {
        let per_stage = self.spec.layers / self.groups.stages;
        OperationFacts {
            operation,
            group: Some(group.into()),
            layer: Some(at.stage * per_stage + at.layer),
            pass: Some(at.pass.name()),
            bytes,
        }
    }

    /// Adds the all-reduce of tensor-parallel groups.
    fn tensor_all_reduce(&mut self, at: LayerPass) {
        let Some(size) = self.spec.tensor_size.filter(|_| self.groups.tensor > 1) else {
            return;
        };
        let algorithm = self.algorithm;
        let facts = self.facts(at, Operation::AllReduce, "tensor", size.0);
        for members in self.groups.tensor_groups(at.stage) {
            let add = |exchange: &mut Exchange<'_>| exchange.add(Operation::AllReduce, algorithm);
            self.sequences.exchange(&members, facts.clone(), add);
        }
    }

    /// Adds the all-to-all of expert-parallel groups, in which tokens go to experts, or back. `draw` numbers layers and micro-batches
    /// of all steps.
    fn expert_all_to_all(&mut self, at: LayerPass, draw: u32, back: bool) {
        let Some(size) = self.spec.expert_size.filter(|_| self.groups.experts > 1) else {
            return;
        };
        let n = self.groups.experts;
        // Each token goes to `top_k` ranks.
        let sent = size.0.saturating_mul(self.spec.top_k.unwrap_or(1).into());
        let facts = self.facts(at, Operation::AllToAll, "expert", sent);
        let groups = self.groups.expert_groups(at.stage);
        let count = groups.len() as u32;
        for (number, members) in (0..).zip(groups) {
            let Some(top_k) = self.spec.top_k else {
                let add = |exchange: &mut Exchange<'_>| exchange.add(Operation::AllToAll, Algorithm::Shift);
                self.sequences.exchange(&members, facts.clone(), add);
                continue;
            };
            // Tokens go back, and backwards, as they went.
            let mut rng = self
                .streams
                .nth((draw * self.groups.stages + at.stage) * count + number);
            let mut routed = vec![0_u64; (n * n) as usize];
            for from in 0..n {
                for _ in 0..self.spec.tokens {
                    for to in sample(&mut rng, n as usize, top_k as usize) {
                        routed[from as usize * n as usize + to] += 1;
                    }
                }
            }
            let tokens = u128::from(self.spec.tokens);
            let bytes = |from: u32, to: u32| {
                let (from, to) = if back { (to, from) } else { (from, to) };
                let routed = routed[(from * n + to) as usize];
                (u128::from(routed) * u128::from(size.0) / tokens) as u64
            };
            let add = |exchange: &mut Exchange<'_>| exchange.all_to_all(true, bytes);
            self.sequences.exchange(&members, facts.clone(), add);
        }
    }

    /// Adds a layer in a direction.
    fn layer(&mut self, at: LayerPass, draw: u32) {
        let LayerPass { stage, pass, .. } = at;
        let time = match pass {
            Pass::Forward => self.spec.forward,
            Pass::Backward => self.spec.backward,
        };
        let (attention, experts) = (Time(time.0 / 2), Time(time.0 - time.0 / 2));
        if pass == Pass::Forward {
            self.half(stage, attention);
            self.tensor_all_reduce(at);
        }
        self.expert_all_to_all(at, draw, false);
        self.half(stage, experts);
        self.expert_all_to_all(at, draw, true);
        self.tensor_all_reduce(at);
        if pass == Pass::Backward {
            self.half(stage, attention);
            self.tensor_all_reduce(at);
        }
    }

    /// Adds the all-reduce of the gradients of a layer.
    fn gradients(&mut self, at: LayerPass) {
        let Some(size) = self.spec.gradient_size.filter(|_| self.groups.data > 1) else {
            return;
        };
        let algorithm = self.algorithm;
        let facts = self.facts(at, Operation::AllReduce, "data", size.0);
        for members in self.groups.data_groups(at.stage) {
            self.sequences
                .exchange_in_background(&members, facts.clone(), algorithm);
        }
    }

    /// Adds the messages between stages of a step.
    fn stage_messages(&mut self, begins: &[u32]) -> StageMessages {
        let mut messages = StageMessages::new();
        let Some(size) = self.spec.activation_size else {
            return messages;
        };
        let per_stage = self.groups.per_stage();
        for lower in 0..(self.groups.stages - 1) * per_stage {
            let upper = lower + per_stage;
            for micro_batch in 0..self.spec.micro_batches {
                for (from, to) in [(lower, upper), (upper, lower)] {
                    let tasks = self.sequences.builder.message(from, to, size.0);
                    self.sequences.builder.after(tasks.1, begins[to as usize]);
                    messages.insert((to, from < to, micro_batch), tasks);
                }
            }
        }
        messages
    }

    /// Adds a pass of a stage.
    fn pass(
        &mut self,
        (step, stage): (u32, u32),
        (pass, micro_batch): (Pass, u32),
        messages: &StageMessages,
    ) {
        let ranks = self.groups.ranks_of_stage(stage);
        let is_forward = pass == Pass::Forward;
        for rank in ranks.clone() {
            if let Some(&(_, receive)) = messages.get(&(rank, is_forward, micro_batch)) {
                self.sequences.wait(rank, receive);
            }
        }
        let layers = self.spec.layers / self.groups.stages;
        let is_last = micro_batch + 1 == self.spec.micro_batches;
        for n in 0..layers {
            let layer = if is_forward { n } else { layers - 1 - n };
            let draw = (step * self.spec.micro_batches + micro_batch) * layers + layer;
            let at = LayerPass { stage, layer, pass };
            self.layer(at, draw);
            if self.spec.overlap && is_last && !is_forward {
                self.gradients(at);
            }
        }
        let per_stage = self.groups.per_stage();
        for rank in ranks {
            let to = if is_forward {
                Some(rank + per_stage)
            } else {
                rank.checked_sub(per_stage)
            };
            let send = to.and_then(|to| messages.get(&(to, is_forward, micro_batch)));
            if let Some(&(send, _)) = send {
                self.sequences.begin_in_background(rank, send);
            }
        }
    }

    fn step(&mut self, step: u32) {
        let begins = self.sequences.begin_job();
        let messages = self.stage_messages(&begins);
        let (spec, stages) = (self.spec, self.groups.stages);
        for stage in 0..stages {
            for pass in spec.schedule.passes(stage, stages, spec.micro_batches) {
                self.pass((step, stage), pass, &messages);
            }
            if !spec.overlap {
                for layer in (0..spec.layers / stages).rev() {
                    let pass = Pass::Backward;
                    self.gradients(LayerPass { stage, layer, pass });
                }
            }
            for rank in self.groups.ranks_of_stage(stage) {
                self.sequences.join(rank);
                self.compute(rank, spec.update);
            }
        }
    }
}

impl Training {
    /// Returns the groups of ranks.
    fn groups(&self, ranks: u32) -> Result<Groups, SpecError> {
        let model = self.tensor_ranks.saturating_mul(self.stages);
        if !ranks.is_multiple_of(model) {
            let given = format!("{ranks} with {} x {}", self.tensor_ranks, self.stages);
            return refuse("ranks", given, "a multiple of tensor_ranks x stages");
        }
        if !self.layers.is_multiple_of(self.stages) {
            let given = format!("{} with {} stages", self.layers, self.stages);
            return refuse("layers", given, "a multiple of the stages");
        }
        let data = ranks / model;
        if !data.is_multiple_of(self.expert_ranks) {
            let given = format!("{} with {data} data-parallel ranks", self.expert_ranks);
            return refuse("expert_ranks", given, "a divisor of these");
        }
        if let Some(top_k) = self.top_k
            && !(1..=self.expert_ranks).contains(&top_k)
        {
            let allowed = format!("1 to {}, the expert_ranks", self.expert_ranks);
            return refuse("top_k", top_k, allowed);
        }
        for (field, size, members) in [
            ("tensor_size", self.tensor_size, self.tensor_ranks),
            ("gradient_size", self.gradient_size, data),
            ("activation_size", self.activation_size, 1),
            ("expert_size", self.expert_size, self.expert_ranks),
        ] {
            if let Some(size) = size
                && size.0 < u64::from(members)
            {
                let given = format!("{} bytes for {members} ranks", size.0);
                return refuse(field, given, "at least a byte per rank");
            }
        }
        for (field, size, members, ranks) in [
            ("tensor_size", self.tensor_size, "tensor_ranks", self.tensor_ranks),
            ("activation_size", self.activation_size, "stages", self.stages),
            ("expert_size", self.expert_size, "expert_ranks", self.expert_ranks),
        ] {
            if size.is_none() && ranks > 1 {
                let given = format!("none with {ranks} {members}");
                return refuse(field, given, "a size");
            }
        }
        if let Some(&rank) = self.stragglers.iter().find(|&&rank| rank >= ranks) {
            let allowed = format!("0 to {}", ranks - 1);
            return refuse("stragglers", format!("rank {rank}"), allowed);
        }
        Ok(Groups {
            tensor: self.tensor_ranks,
            data,
            stages: self.stages,
            experts: self.expert_ranks,
        })
    }

    /// Returns the number of messages of all steps.
    fn messages(&self, groups: Groups, algorithm: Algorithm) -> u64 {
        let [layers, micro_batches, stages] = [self.layers, self.micro_batches, groups.stages].map(u64::from);
        let [tensor, data, experts] = [groups.tensor, groups.data, groups.experts].map(u64::from);
        let all_reduce = |ranks: u32| Exchange::messages(Operation::AllReduce, algorithm, ranks, 1);
        let mut messages = 0_u64;
        // A layer has four of each kind in both directions.
        if self.tensor_size.is_some() && tensor > 1 {
            messages += 4 * layers * micro_batches * data * all_reduce(groups.tensor);
        }
        if self.expert_size.is_some() {
            messages += 4 * layers * micro_batches * tensor * data * (experts - 1);
        }
        if self.gradient_size.is_some() && data > 1 {
            messages += layers * tensor * all_reduce(groups.data);
        }
        if self.activation_size.is_some() {
            messages += 2 * micro_batches * (stages - 1) * tensor * data;
        }
        messages * u64::from(self.steps)
    }

    fn graph(&self, ranks: u32, context: &PatternContext<'_>) -> Result<TaskGraph, SpecError> {
        let groups = self.groups(ranks)?;
        let draws = [self.steps, self.micro_batches, self.layers, ranks];
        let draws = draws
            .iter()
            .fold(1_u64, |product, &n| product.saturating_mul(u64::from(n)));
        if draws > MAX_COMPUTATIONS / 4 {
            let given = format!(
                "{} x {} micro_batches x {} steps x {ranks} ranks",
                self.layers, self.micro_batches, self.steps
            );
            let allowed = format!("at most {} in all", MAX_COMPUTATIONS / 4);
            return refuse("layers", given, allowed);
        }
        let tokens = draws.saturating_mul(u64::from(self.tokens) * 4);
        if self.top_k.is_some() && tokens > MAX_TOKENS {
            let given = format!("{} for {} draws of ranks", self.tokens, 4 * draws);
            return refuse("tokens", given, format!("at most {MAX_TOKENS} in all draws"));
        }
        let algorithm = Operation::AllReduce.algorithm(self.algorithm)?;
        let messages = self.messages(groups, algorithm);
        if messages > MAX_FLOWS {
            let given = format!("{messages} messages");
            return refuse("layers", given, format!("at most {MAX_FLOWS} messages"));
        }
        // A log-normal factor with the mean 1.
        let variance = (1.0 + self.compute_deviation * self.compute_deviation).ln();
        let factors = (variance > 0.0).then(|| LogNormal::new(-variance / 2.0, variance.sqrt()));
        let mut steps = Steps {
            spec: self,
            groups,
            algorithm,
            sequences: RankSequences::new(ranks),
            streams: context.streams(),
            factors: factors.and_then(Result::ok),
            rng: context.rng(),
        };
        for step in 0..self.steps {
            steps.step(step);
        }
        // Passes of all stages follow one order, so that there is no cycle.
        steps.sequences.builder.build().map_err(|stuck| {
            let given = format!("task {} waits for itself", stuck.task);
            SpecError::new("schedule", given, "another one")
        })
    }
}

impl Pattern for Training {
    fn generator(&self, context: &PatternContext<'_>) -> Result<Option<Arc<dyn FlowGenerator>>, SpecError> {
        let hosts = place_ranks(self.ranks, &self.hosts, self.placement, context)?;
        check_start_before_stop(self.start, None, context)?;
        let graph = self.graph(hosts.len() as u32, context)?;
        let summary = JobSummary::default();
        let options = JobOptions {
            send_done: self.send_done,
            connections: self.connections,
            start: self.start,
            summary,
        };
        let flows = DependentFlows::new(graph, hosts, options, context);
        Ok(Some(Arc::new(flows)))
    }
}

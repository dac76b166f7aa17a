//! Solutions of linear systems with the basis, by its LU factors. An exchange of a variable replaces
//! a column of U and eliminates a row. The update is that of Forrest and Tomlin ("Updated triangular
//! factors of the basis to maintain sparsity in the product form simplex method", 1972).
//!
//! A basis has a row for each constraint and a position for each basic variable. Within the factors
//! both are numbered by the steps of the elimination.

use super::lu::{SparseLists, eliminate};

/// Exchanges after which the basis is factorised again.
const MAX_EXCHANGES: usize = 200;

/// Factor by which the number of entries may grow before the basis is factorised again.
const MAX_GROWTH: usize = 3;

/// Relative error of a diagonal entry from which on the basis is factorised again.
const MAX_ERROR: f64 = 1e-8;

/// Values of at most this size are rounding errors.
const ZERO: f64 = 1e-14;

/// A sequence of operations on a vector, each between one value and multiples of others.
#[derive(Clone, Debug, Default)]
struct Operations {
    /// Index of the one value of each operation.
    indices: Vec<u32>,
    /// Indices of the other values of each operation, and the multiples.
    others: SparseLists,
}

impl Operations {
    fn push(&mut self, index: u32, others: impl IntoIterator<Item = (u32, f64)>) {
        self.indices.push(index);
        for (other, multiple) in others {
            self.others.push(other, multiple);
        }
        self.others.end_list();
    }

    /// Subtracts multiples of the one value from the others.
    fn scatter(&self, operation: usize, values: &mut [f64]) {
        let value = values[self.indices[operation] as usize];
        if value != 0.0 {
            for (other, multiple) in self.others.entries(operation) {
                values[other as usize] -= multiple * value;
            }
        }
    }

    /// Subtracts multiples of the others from the one value.
    fn gather(&self, operation: usize, values: &mut [f64]) {
        let others = self.others.entries(operation);
        let products = others.map(|(other, multiple)| multiple * values[other as usize]);
        let sum: f64 = products.sum();
        values[self.indices[operation] as usize] -= sum;
    }

    fn scatter_all(&self, values: &mut [f64]) {
        for operation in 0..self.indices.len() {
            self.scatter(operation, values);
        }
    }
}

/// The entries of U off its diagonal, by columns or by rows.
type Lists = Vec<Vec<(u32, f64)>>;

/// A factorised basis.
#[derive(Clone, Debug, Default)]
pub(super) struct Factors {
    step_of_row: Vec<u32>,
    step_of_position: Vec<u32>,
    lower: Operations,
    lower_transposed: Operations,
    diagonal: Vec<f64>,
    upper_columns: Lists,
    upper_rows: Lists,
    /// Steps in the order in which U is triangular. Each step counts at its last index only.
    order: Vec<u32>,
    /// Last index of each step in `order`.
    last_index: Vec<u32>,
    /// Elimination of a row of U in each exchange, by multiples of other rows.
    row_operations: Operations,
    /// Number of exchanges since the factorisation.
    exchanges: usize,
    /// Number of entries of the factors, and the largest one.
    entries: usize,
    max_entries: usize,
    /// The column of the last [`solve`](Self::solve) before U was applied.
    spike: Vec<f64>,
    /// The operation that eliminates the row of U of the last [`inverse_row`](Self::inverse_row).
    elimination: Vec<(u32, f64)>,
    /// True if rounding errors of an exchange were large.
    is_inaccurate: bool,
    /// Values by step, kept for their memory.
    values: Vec<f64>,
}

impl Factors {
    /// Factorises the basis with these columns, by position. Returns `None` if it is singular.
    pub fn new(columns: &SparseLists) -> Option<Self> {
        let n = columns.len();
        let steps = eliminate(columns)?;
        let entries = n + steps.lower.indices.len() + steps.upper.indices.len();
        let mut factors = Self {
            step_of_row: vec![0; n],
            step_of_position: vec![0; n],
            diagonal: steps.pivots.iter().map(|&(.., pivot)| pivot).collect(),
            upper_columns: vec![Vec::new(); n],
            upper_rows: Vec::with_capacity(n),
            order: (0..n as u32).collect(),
            last_index: (0..n as u32).collect(),
            entries,
            max_entries: MAX_GROWTH * entries,
            spike: vec![0.0; n],
            values: vec![0.0; n],
            ..Self::default()
        };
        for (step, &(row, position, _)) in (0..).zip(&steps.pivots) {
            factors.step_of_row[row as usize] = step;
            factors.step_of_position[position as usize] = step;
        }
        let mut lower_rows: Lists = vec![Vec::new(); n];
        for step in 0..n as u32 {
            let lower = steps.lower.entries(step as usize);
            let lower: Vec<(u32, f64)> = lower
                .map(|(row, multiple)| (factors.step_of_row[row as usize], multiple))
                .collect();
            for &(row, multiple) in &lower {
                lower_rows[row as usize].push((step, multiple));
            }
            if !lower.is_empty() {
                factors.lower.push(step, lower);
            }
            let upper = steps.upper.entries(step as usize);
            let upper: Vec<(u32, f64)> = upper
                .map(|(position, value)| (factors.step_of_position[position as usize], value))
                .collect();
            for &(column, value) in &upper {
                factors.upper_columns[column as usize].push((step, value));
            }
            factors.upper_rows.push(upper);
        }
        for (step, entries) in lower_rows.into_iter().enumerate().rev() {
            if !entries.is_empty() {
                factors.lower_transposed.push(step as u32, entries);
            }
        }
        Some(factors)
    }

    /// Returns true if the basis should be factorised again, so that systems stay fast to solve and
    /// solutions accurate.
    pub fn is_long(&self) -> bool {
        self.exchanges >= MAX_EXCHANGES || self.entries > self.max_entries || self.is_inaccurate
    }

    /// Returns true if no exchange has followed the factorisation.
    pub fn is_fresh(&self) -> bool {
        self.exchanges == 0
    }

    /// Computes the basis's inverse times a vector (FTRAN). `rows` is by row, `solution` by
    /// position.
    pub fn solve(&mut self, rows: &[f64], solution: &mut Vec<f64>) {
        let values = &mut self.values;
        for (&step, &value) in self.step_of_row.iter().zip(rows) {
            values[step as usize] = value;
        }
        self.lower.scatter_all(values);
        for operation in 0..self.row_operations.indices.len() {
            self.row_operations.gather(operation, values);
        }
        self.spike.copy_from_slice(values);
        for (index, &step) in self.order.iter().enumerate().rev() {
            let step = step as usize;
            let mut value = values[step];
            if value != 0.0 && self.last_index[step] as usize == index {
                value /= self.diagonal[step];
                values[step] = value;
                for &(row, entry) in &self.upper_columns[step] {
                    values[row as usize] -= entry * value;
                }
            }
        }
        solution.clear();
        solution.extend(self.step_of_position.iter().map(|&step| values[step as usize]));
    }

    /// Computes a row of the inverse (BTRAN of a unit vector): that of a position. `solution` is by
    /// row.
    pub fn inverse_row(&mut self, position: u32, solution: &mut Vec<f64>) {
        let values = &mut self.values;
        values.fill(0.0);
        self.elimination.clear();
        let own = self.step_of_position[position as usize] as usize;
        let first = self.last_index[own] as usize;
        values[own] = 1.0;
        for (index, &step) in self.order.iter().enumerate().skip(first) {
            let step = step as usize;
            let mut value = values[step];
            if value != 0.0 && self.last_index[step] as usize == index {
                value /= self.diagonal[step];
                values[step] = value;
                for &(column, entry) in &self.upper_rows[step] {
                    values[column as usize] -= entry * value;
                }
                if step != own {
                    self.elimination.push((step as u32, -value * self.diagonal[own]));
                }
            }
        }
        for operation in (0..self.row_operations.indices.len()).rev() {
            self.row_operations.scatter(operation, values);
        }
        self.lower_transposed.scatter_all(values);
        solution.clear();
        solution.extend(self.step_of_row.iter().map(|&step| values[step as usize]));
    }

    /// Exchanges the variable at a position, where `pivot` is the value there of the inverse times
    /// the new column. [`inverse_row`](Self::inverse_row) of the position and then
    /// [`solve`](Self::solve) of the new column have to come before.
    pub fn exchange(&mut self, position: u32, pivot: f64) {
        let step = self.step_of_position[position as usize];
        let own = step as usize;
        for (column, _) in std::mem::take(&mut self.upper_rows[own]) {
            remove_from(&mut self.upper_columns[column as usize], step);
            self.entries -= 1;
        }
        for (row, _) in std::mem::take(&mut self.upper_columns[own]) {
            remove_from(&mut self.upper_rows[row as usize], step);
            self.entries -= 1;
        }
        let multiples = self.elimination.iter();
        let sum: f64 = multiples
            .map(|&(row, multiple)| multiple * self.spike[row as usize])
            .sum();
        let diagonal = self.spike[own] - sum;
        let expected = pivot * self.diagonal[own];
        self.is_inaccurate |= (diagonal - expected).abs() > MAX_ERROR * expected.abs();
        self.diagonal[own] = diagonal;
        for (row, &value) in self.spike.iter().enumerate() {
            if row != own && value.abs() > ZERO {
                self.upper_columns[own].push((row as u32, value));
                self.upper_rows[row].push((step, value));
            }
        }
        self.last_index[own] = self.order.len() as u32;
        self.order.push(step);
        self.entries += self.upper_columns[own].len() + self.elimination.len();
        self.row_operations.push(step, self.elimination.drain(..));
        self.exchanges += 1;
    }
}

fn remove_from(list: &mut Vec<(u32, f64)>, index: u32) {
    if let Some(found) = list.iter().position(|&(other, _)| other == index) {
        list.swap_remove(found);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn columns(matrix: &[Vec<f64>]) -> SparseLists {
        let mut lists = SparseLists::default();
        for column in 0..matrix.len() {
            for (row, values) in (0..).zip(matrix) {
                if values[column] != 0.0 {
                    lists.push(row, values[column]);
                }
            }
            lists.end_list();
        }
        lists
    }

    /// A sparse matrix of small whole numbers, which is singular for few seeds.
    fn matrix(n: usize, seed: u64) -> Vec<Vec<f64>> {
        let mut state = seed;
        let mut entry = |i: usize, j: usize| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            match (state >> 33) % 12 {
                0 => 1.0,
                1 => -1.0,
                2 if i == j => 3.0,
                _ if i == j => 2.0,
                _ => 0.0,
            }
        };
        (0..n).map(|i| (0..n).map(|j| entry(i, j)).collect()).collect()
    }

    /// Checks both kinds of systems against the matrix itself.
    fn check(factors: &mut Factors, matrix: &[Vec<f64>]) {
        let n = matrix.len();
        let expected: Vec<f64> = (0..n).map(|i| (i as f64).sin()).collect();
        let product = |row: &Vec<f64>| row.iter().zip(&expected).map(|(a, x)| a * x).sum::<f64>();
        let rows: Vec<f64> = matrix.iter().map(product).collect();
        let mut solution = Vec::new();
        factors.solve(&rows, &mut solution);
        for (value, expected) in solution.iter().zip(&expected) {
            assert!((value - expected).abs() < 1e-9, "{value}, not {expected}");
        }
        for position in 0..n {
            factors.inverse_row(position as u32, &mut solution);
            let product = |column: usize| {
                let rows = solution.iter().zip(matrix);
                rows.map(|(value, row)| value * row[column]).sum::<f64>()
            };
            for (column, product) in (0..n).map(product).enumerate() {
                let expected = f64::from(u8::from(column == position));
                assert!((product - expected).abs() < 1e-9, "{product}, not {expected}");
            }
        }
    }

    #[test]
    fn systems_are_solved() {
        for (n, seed) in (1..40).zip(1..) {
            let matrix = matrix(n, seed);
            if let Some(mut factors) = Factors::new(&columns(&matrix)) {
                check(&mut factors, &matrix);
            }
        }
    }

    #[test]
    fn a_singular_basis_has_no_factors() {
        let matrix = [vec![1.0, 1.0], vec![2.0, 2.0]];
        assert!(Factors::new(&columns(&matrix)).is_none());
        let matrix = [vec![1.0, 0.0], vec![2.0, 0.0]];
        assert!(Factors::new(&columns(&matrix)).is_none());
    }

    #[test]
    fn columns_are_exchanged() {
        let n = 20;
        let mut matrix = matrix(n, 3);
        let mut factors = Factors::new(&columns(&matrix)).unwrap();
        for position in [4, 7, 4, 19, 0] {
            let new: Vec<f64> = (0..n).map(|i| f64::from(u8::from(i == position)) + 0.1).collect();
            let mut column = Vec::new();
            factors.inverse_row(position as u32, &mut Vec::new());
            factors.solve(&new, &mut column);
            factors.exchange(position as u32, column[position]);
            for (row, value) in matrix.iter_mut().zip(new) {
                row[position] = value;
            }
            check(&mut factors, &matrix);
        }
        assert!(!factors.is_fresh());
    }
}

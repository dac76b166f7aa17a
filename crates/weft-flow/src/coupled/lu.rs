//! The LU factorisation of a sparse matrix by Gaussian elimination.
//!
//! The pivot of each step is an entry whose row and column have few other entries. The factors then
//! stay sparse (Markowitz, "The elimination form of the inverse and its application to
//! linear programming", 1957). An entry that is small in its row cannot be
//! a pivot. Once the remaining matrix is dense, it is eliminated as an array, with the largest entry
//! of each column as the pivot.

/// Smallest size of a pivot relative to the largest entry of its row.
const STABILITY: f64 = 0.1;

/// Smallest size of a pivot.
const MIN_PIVOT: f64 = 1e-9;

/// Entries of at most this size are rounding errors of a cancellation.
const ZERO: f64 = 1e-13;

/// Rows and columns to compare before the best pivot so far is taken.
const MAX_SEARCHED: u32 = 4;

/// Share of entries from which on the remaining matrix is eliminated as an array.
const DENSE: f64 = 0.3;

const NONE: u32 = u32::MAX;

/// Lists of indices with values, one after the other.
#[derive(Clone, Debug, Default)]
pub(super) struct SparseLists {
    /// One past the last entry of each list.
    ends: Vec<u32>,
    pub indices: Vec<u32>,
    pub values: Vec<f64>,
}

impl SparseLists {
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    pub fn push(&mut self, index: u32, value: f64) {
        self.indices.push(index);
        self.values.push(value);
    }

    /// Ends a list; entries pushed from now on belong to the next one.
    pub fn end_list(&mut self) {
        self.ends.push(self.indices.len() as u32);
    }

    pub fn entries(&self, list: usize) -> impl Iterator<Item = (u32, f64)> {
        let start = if list == 0 {
            0
        } else {
            self.ends[list - 1] as usize
        };
        let range = start..self.ends[list] as usize;
        let indices = self.indices[range.clone()].iter().copied();
        indices.zip(self.values[range].iter().copied())
    }
}

/// The steps of an elimination.
#[derive(Clone, Debug, Default)]
pub(super) struct Elimination {
    /// Row, column and value of each pivot.
    pub pivots: Vec<(u32, u32, f64)>,
    /// Rows from which each step subtracts a multiple of the pivot's row, and the multiples.
    pub lower: SparseLists,
    /// Other columns of the pivot's row in each step, and their values.
    pub upper: SparseLists,
}

/// Rows or columns by their number of entries, as doubly linked lists.
#[derive(Debug)]
struct Counts {
    first: Vec<u32>,
    next: Vec<u32>,
    previous: Vec<u32>,
    count: Vec<u32>,
}

impl Counts {
    fn new(counts: impl ExactSizeIterator<Item = usize>) -> Self {
        let n = counts.len();
        let mut lists = Self {
            first: vec![NONE; n + 2],
            next: vec![NONE; n],
            previous: vec![NONE; n],
            count: vec![NONE; n],
        };
        for (i, count) in counts.enumerate() {
            lists.insert(i as u32, count);
        }
        lists
    }

    fn insert(&mut self, i: u32, count: usize) {
        let first = std::mem::replace(&mut self.first[count], i);
        self.next[i as usize] = first;
        self.previous[i as usize] = NONE;
        self.count[i as usize] = count as u32;
        if first != NONE {
            self.previous[first as usize] = i;
        }
    }

    fn remove(&mut self, i: u32) {
        let (next, previous) = (self.next[i as usize], self.previous[i as usize]);
        if previous == NONE {
            self.first[self.count[i as usize] as usize] = next;
        } else {
            self.next[previous as usize] = next;
        }
        if next != NONE {
            self.previous[next as usize] = previous;
        }
    }

    fn set(&mut self, i: u32, count: usize) {
        if self.count[i as usize] as usize != count {
            self.remove(i);
            self.insert(i, count);
        }
    }

    fn with(&self, count: usize) -> impl Iterator<Item = u32> {
        let some = |i: u32| (i != NONE).then_some(i);
        std::iter::successors(some(self.first[count]), move |&i| some(self.next[i as usize]))
    }
}

/// The part of the matrix that has no pivot yet.
struct Remainder {
    rows: Vec<Vec<(u32, f64)>>,
    /// Rows with an entry in each column.
    columns: Vec<Vec<u32>>,
    row_counts: Counts,
    column_counts: Counts,
    /// Number of entries.
    entries: usize,
    /// For each column, one more than the index of its entry in the row at hand, or 0.
    entry_of_column: Vec<u32>,
}

/// Factorises the square matrix whose columns are `columns`, lists of rows with values. Returns
/// `None` if the matrix is singular.
pub(super) fn eliminate(columns: &SparseLists) -> Option<Elimination> {
    let n = columns.len();
    let mut remainder = Remainder::new(columns);
    let mut steps = Elimination::default();
    for step in 0..n {
        if remainder.entries as f64 > DENSE * ((n - step) as f64).powi(2) {
            eliminate_array(&remainder.rows, &mut steps)?;
            break;
        }
        let (row, column) = remainder.choose_pivot()?;
        remainder.eliminate(row, column, &mut steps);
    }
    Some(steps)
}

impl Remainder {
    fn new(columns: &SparseLists) -> Self {
        let n = columns.len();
        let mut rows: Vec<Vec<(u32, f64)>> = vec![Vec::new(); n];
        let mut rows_of: Vec<Vec<u32>> = Vec::with_capacity(n);
        for column in 0..n {
            for (row, value) in columns.entries(column) {
                rows[row as usize].push((column as u32, value));
            }
            rows_of.push(columns.entries(column).map(|(row, _)| row).collect());
        }
        Self {
            row_counts: Counts::new(rows.iter().map(Vec::len)),
            column_counts: Counts::new(rows_of.iter().map(Vec::len)),
            entries: rows.iter().map(Vec::len).sum(),
            rows,
            columns: rows_of,
            entry_of_column: vec![0; n],
        }
    }

    /// Returns row and column of the next pivot: an entry that makes few others.
    fn choose_pivot(&self) -> Option<(u32, u32)> {
        let mut best: Option<(usize, u32, u32)> = None;
        let mut searched = 0;
        for count in 1..=self.rows.len() {
            let enough = |best: Option<(usize, u32, u32)>, bound: usize, searched: u32| {
                best.is_some_and(|(fill, ..)| fill <= bound || searched >= MAX_SEARCHED)
            };
            for column in self.column_counts.with(count) {
                for &row in &self.columns[column as usize] {
                    let entries = &self.rows[row as usize];
                    let fill = (count - 1) * (entries.len() - 1);
                    if best.is_none_or(|(least, ..)| fill < least) && is_stable(entries, column) {
                        best = Some((fill, row, column));
                    }
                }
                searched += 1;
                if enough(best, (count - 1) * (count - 1), searched) {
                    return best.map(|(_, row, column)| (row, column));
                }
            }
            for row in self.row_counts.with(count) {
                let entries = &self.rows[row as usize];
                for &(column, _) in entries {
                    let fill = (count - 1) * (self.columns[column as usize].len() - 1);
                    if best.is_none_or(|(least, ..)| fill < least) && is_stable(entries, column) {
                        best = Some((fill, row, column));
                    }
                }
                searched += 1;
                if enough(best, count * (count - 1), searched) {
                    return best.map(|(_, row, column)| (row, column));
                }
            }
        }
        best.map(|(_, row, column)| (row, column))
    }

    /// Makes a step of the elimination.
    fn eliminate(&mut self, pivot_row: u32, pivot_column: u32, steps: &mut Elimination) {
        let entries = std::mem::take(&mut self.rows[pivot_row as usize]);
        self.entries -= entries.len();
        self.row_counts.remove(pivot_row);
        for &(column, _) in &entries {
            let rows = &mut self.columns[column as usize];
            remove_from(rows, pivot_row);
            self.column_counts.set(column, rows.len());
        }
        self.column_counts.remove(pivot_column);
        let mut pivot = 0.0;
        for &(column, value) in &entries {
            if column == pivot_column {
                pivot = value;
            } else {
                steps.upper.push(column, value);
            }
        }
        for row in std::mem::take(&mut self.columns[pivot_column as usize]) {
            let factor = self.subtract(row, pivot_column, pivot, &entries);
            steps.lower.push(row, factor);
        }
        steps.upper.end_list();
        steps.lower.end_list();
        steps.pivots.push((pivot_row, pivot_column, pivot));
    }

    /// Subtracts the multiple of a pivot's row that makes the entry of `row` in the pivot's column
    /// 0. Returns the factor.
    fn subtract(&mut self, row: u32, pivot_column: u32, pivot: f64, entries: &[(u32, f64)]) -> f64 {
        let values = &mut self.rows[row as usize];
        let before = values.len();
        for (index, &(column, _)) in (1..).zip(values.iter()) {
            self.entry_of_column[column as usize] = index;
        }
        let own = self.entry_of_column[pivot_column as usize] as usize - 1;
        let factor = values[own].1 / pivot;
        let mut cancelled = false;
        for &(column, value) in entries {
            if column == pivot_column {
                continue;
            }
            let index = self.entry_of_column[column as usize] as usize;
            if index > 0 {
                let entry = &mut values[index - 1].1;
                *entry -= factor * value;
                cancelled |= entry.abs() <= ZERO;
            } else {
                values.push((column, -factor * value));
                let rows = &mut self.columns[column as usize];
                rows.push(row);
                self.column_counts.set(column, rows.len());
            }
        }
        for &(column, _) in values.iter() {
            self.entry_of_column[column as usize] = 0;
        }
        values.swap_remove(own);
        if cancelled {
            let (columns, counts) = (&mut self.columns, &mut self.column_counts);
            values.retain(|&(column, value)| {
                let keep = value.abs() > ZERO;
                if !keep {
                    let rows = &mut columns[column as usize];
                    remove_from(rows, row);
                    counts.set(column, rows.len());
                }
                keep
            });
        }
        self.entries = self.entries + values.len() - before;
        self.row_counts.set(row, values.len());
        factor
    }
}

/// Makes the remaining steps of an elimination. `rows` has the rows that have no pivot yet. Returns `None`
/// if the matrix is singular.
fn eliminate_array(rows: &[Vec<(u32, f64)>], steps: &mut Elimination) -> Option<()> {
    let mut is_open = [vec![true; rows.len()], vec![true; rows.len()]];
    for &(row, column, _) in &steps.pivots {
        is_open[0][row as usize] = false;
        is_open[1][column as usize] = false;
    }
    let [mut row_numbers, columns] =
        is_open.map(|is_open| (0..rows.len()).filter(|&i| is_open[i]).collect::<Vec<_>>());
    let width = columns.len();
    let mut array = vec![0.0; width * width];
    for (&row, values) in row_numbers.iter().zip(array.chunks_exact_mut(width)) {
        for &(column, value) in &rows[row] {
            values[columns.binary_search(&(column as usize)).ok()?] = value;
        }
    }
    for step in 0..width {
        let size = |row: &usize| array[row * width + step].abs();
        let largest = (step..width).max_by(|a, b| size(a).total_cmp(&size(b)))?;
        if size(&largest) < MIN_PIVOT {
            return None;
        }
        row_numbers.swap(step, largest);
        let (above, below) = array.split_at_mut((step + 1) * width);
        let pivot_row = &mut above[step * width..];
        if largest > step {
            pivot_row.swap_with_slice(&mut below[(largest - step - 1) * width..][..width]);
        }
        let pivot = pivot_row[step];
        let others = &pivot_row[step + 1..];
        for (&column, &value) in columns[step + 1..].iter().zip(others) {
            if value.abs() > ZERO {
                steps.upper.push(column as u32, value);
            }
        }
        for (&row, values) in row_numbers[step + 1..].iter().zip(below.chunks_exact_mut(width)) {
            let factor = values[step] / pivot;
            if values[step].abs() > ZERO {
                steps.lower.push(row as u32, factor);
                for (value, other) in values[step + 1..].iter_mut().zip(others) {
                    *value -= factor * other;
                }
            }
        }
        steps.upper.end_list();
        steps.lower.end_list();
        steps
            .pivots
            .push((row_numbers[step] as u32, columns[step] as u32, pivot));
    }
    Some(())
}

fn remove_from(rows: &mut Vec<u32>, row: u32) {
    if let Some(index) = rows.iter().position(|&other| other == row) {
        rows.swap_remove(index);
    }
}

/// Returns true if the entry in this column may be a pivot.
fn is_stable(entries: &[(u32, f64)], column: u32) -> bool {
    let (mut own, mut largest) = (0.0, 0.0_f64);
    for &(other, value) in entries {
        largest = largest.max(value.abs());
        if other == column {
            own = value.abs();
        }
    }
    own >= MIN_PIVOT && own >= STABILITY * largest
}

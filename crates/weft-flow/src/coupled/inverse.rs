//! The inverse of a matrix that changes by a row or a column at a time. Its rows belong to the matrix's columns, and the
//! other way round. Zeros are skipped.

/// A dense inverse, by rows.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Inverse {
    rows: Vec<Vec<f64>>,
}

/// `to += by * from`.
fn add(to: &mut [f64], by: f64, from: &[f64]) {
    for (to, from) in to.iter_mut().zip(from) {
        *to += by * from;
    }
}

impl Inverse {
    /// Inverts a square matrix, given by rows; None if it is singular.
    pub fn invert(mut matrix: Vec<Vec<f64>>) -> Option<Self> {
        let n = matrix.len();
        let unit = |i: usize| (0..n).map(|j| f64::from(u8::from(i == j))).collect();
        let mut rows: Vec<Vec<f64>> = (0..n).map(unit).collect();
        for column in 0..n {
            let size = |&row: &usize| matrix[row][column].abs();
            let pivot = (column..n).max_by(|a, b| size(a).total_cmp(&size(b)))?;
            if size(&pivot) < 1e-11 {
                return None;
            }
            matrix.swap(column, pivot);
            rows.swap(column, pivot);
            let scale = matrix[column][column].recip();
            let (of_matrix, of_inverse) = (matrix[column].clone(), rows[column].clone());
            for row in (0..n).filter(|&row| row != column) {
                let by = -scale * matrix[row][column];
                if by != 0.0 {
                    add(&mut matrix[row][column..], by, &of_matrix[column..]);
                    add(&mut rows[row], by, &of_inverse);
                }
            }
            for value in matrix[column].iter_mut().chain(&mut rows[column]) {
                *value *= scale;
            }
        }
        Some(Self { rows })
    }

    /// A row.
    pub fn row(&self, row: usize) -> &[f64] {
        &self.rows[row]
    }

    /// Writes the sum of rows with weights to `sum`.
    pub fn rows_times(&self, weights: &[(u32, f64)], sum: &mut Vec<f64>) {
        sum.clear();
        sum.resize(self.rows.len(), 0.0);
        for &(row, weight) in weights {
            add(sum, weight, &self.rows[row as usize]);
        }
    }

    /// Writes the sum of columns with weights to `sum`.
    pub fn times_columns(&self, weights: &[(u32, f64)], sum: &mut Vec<f64>) {
        sum.clear();
        let weighted_sum = |row: &Vec<f64>| {
            weights
                .iter()
                .map(|&(column, weight)| weight * row[column as usize])
                .sum::<f64>()
        };
        sum.extend(self.rows.iter().map(weighted_sum));
    }

    /// The matrix grows by a column and a row. `column` is the inverse times the column, `row` is the row times the inverse,
    /// and `pivot` is the corner less the row times `column`.
    pub fn grow(&mut self, column: &[f64], row: &[f64], pivot: f64) {
        for (row_values, &value) in self.rows.iter_mut().zip(column) {
            let by = value / pivot;
            if by != 0.0 {
                add(row_values, by, row);
            }
            row_values.push(-by);
        }
        let mut last: Vec<f64> = row.iter().map(|value| -value / pivot).collect();
        last.push(pivot.recip());
        self.rows.push(last);
    }

    /// The matrix loses the column that belongs to `row` and the row that belongs to `column`. The last ones take their places.
    pub fn shrink(&mut self, row: usize, column: usize) {
        let gone = self.rows.swap_remove(row);
        for other in &mut self.rows {
            let by = -other[column] / gone[column];
            if by != 0.0 {
                add(other, by, &gone);
            }
            other.swap_remove(column);
        }
    }

    /// The matrix has another column instead of the one that belongs to `row`; `column` is the inverse times it.
    pub fn replace_row(&mut self, row: usize, column: &[f64]) {
        let mut replaced = std::mem::take(&mut self.rows[row]);
        for value in &mut replaced {
            *value /= column[row];
        }
        for (other, &by) in self.rows.iter_mut().zip(column) {
            if by != 0.0 && !other.is_empty() {
                add(other, -by, &replaced);
            }
        }
        self.rows[row] = replaced;
    }

    /// The matrix has another row instead of the one that belongs to `column`; `row` is it times the inverse.
    pub fn replace_column(&mut self, column: usize, row: &[f64]) {
        for other in &mut self.rows {
            let by = other[column] / row[column];
            if by != 0.0 {
                add(other, -by, row);
                other[column] = by;
            }
        }
    }

    /// The unknown of a row becomes what is left of a sum when it and those of all `rows`, itself among them, are taken away.
    pub fn substitute_remainder(&mut self, row: usize, rows: impl Iterator<Item = usize>) {
        let mut sum = vec![0.0; self.rows.len()];
        for row in rows {
            add(&mut sum, -1.0, &self.rows[row]);
        }
        self.rows[row] = sum;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MATRIX: [[f64; 3]; 3] = [[0.0, 1.0, -1.0], [1.0, 1.0, 0.0], [1.0, 0.0, 2.0]];

    fn inverse_of(matrix: &[&[f64]]) -> Inverse {
        Inverse::invert(matrix.iter().map(|row| row.to_vec()).collect()).unwrap()
    }

    #[track_caller]
    fn equal(found: &Inverse, expected: &Inverse) {
        assert_eq!(found.rows.len(), expected.rows.len());
        for (found, expected) in found.rows.iter().flatten().zip(expected.rows.iter().flatten()) {
            assert!((found - expected).abs() < 1e-12, "{found}, not {expected}");
        }
    }

    #[test]
    fn an_inverse_times_its_matrix_is_one() {
        let inverse = inverse_of(&[&MATRIX[0], &MATRIX[1], &MATRIX[2]]);
        for (i, row) in MATRIX.iter().enumerate() {
            let mut product = Vec::new();
            let weights: Vec<(u32, f64)> = (0..).zip(row.iter().copied()).collect();
            inverse.rows_times(&weights, &mut product);
            for (j, value) in product.iter().enumerate() {
                assert!((value - f64::from(u8::from(i == j))).abs() < 1e-12);
            }
        }
        assert_eq!(Inverse::invert(vec![vec![1.0, 1.0], vec![2.0, 2.0]]), None);
    }

    #[test]
    fn it_grows_and_shrinks() {
        let mut inverse = inverse_of(&[&MATRIX[0][..2], &MATRIX[1][..2]]);
        let (mut column, mut row) = (Vec::new(), Vec::new());
        inverse.times_columns(&[(0, -1.0)], &mut column);
        inverse.rows_times(&[(0, 1.0)], &mut row);
        inverse.grow(&column, &row, 2.0 - column[0]);
        equal(&inverse, &inverse_of(&[&MATRIX[0], &MATRIX[1], &MATRIX[2]]));
        // Without its first column and its second row, and with the last ones in their places.
        inverse.shrink(0, 1);
        equal(&inverse, &inverse_of(&[&[-1.0, 1.0], &[2.0, 0.0]]));
    }

    #[test]
    fn rows_and_columns_are_replaced() {
        let mut inverse = inverse_of(&[&MATRIX[0], &MATRIX[1], &MATRIX[2]]);
        let (mut column, mut row) = (Vec::new(), Vec::new());
        inverse.times_columns(&[(0, 1.0), (2, 3.0)], &mut column);
        inverse.replace_row(1, &column);
        equal(
            &inverse,
            &inverse_of(&[&[0.0, 1.0, -1.0], &[1.0, 0.0, 0.0], &[1.0, 3.0, 2.0]]),
        );
        inverse.rows_times(&[(0, 1.0), (1, 1.0)], &mut row);
        inverse.replace_column(0, &row);
        equal(
            &inverse,
            &inverse_of(&[&[1.0, 1.0, 0.0], &[1.0, 0.0, 0.0], &[1.0, 3.0, 2.0]]),
        );
    }

    /// x + y + z = sum: where y and z are unknown, x is what is left; then x and z are, and y is.
    #[test]
    fn an_unknown_becomes_what_is_left() {
        let mut inverse = inverse_of(&[&[1.0, 3.0], &[2.0, -1.0]]);
        inverse.substitute_remainder(0, [0, 1].into_iter());
        equal(&inverse, &inverse_of(&[&[-1.0, 2.0], &[-2.0, -3.0]]));
    }
}

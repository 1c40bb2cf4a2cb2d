//! Weighted least squares for a few terms.

/// A column that other columns explain except for this share of its length is not a term of its
/// own: rounding leaves about 1e-15.
const OWN_SHARE: f64 = 1e-9;

/// The best coefficients, and their covariance if the points have the stated errors.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Solution {
    pub(super) coefficients: Vec<f64>,
    /// Of the coefficients, row by row.
    pub(super) covariance: Vec<Vec<f64>>,
    /// Sum of the squared residuals, each in units of its point's error.
    pub(super) chi_square: f64,
}

/// Fits `rows` · coefficients to `heights` by least squares, each point weighted by its error;
/// `None` when the terms can't be separated at these points. Uses orthogonal columns (modified
/// Gram-Schmidt), because the normal equations would lose half of the digits.
pub(super) fn solve(rows: &[Vec<f64>], heights: &[f64], errors: &[f64]) -> Option<Solution> {
    let terms = rows.first()?.len();
    let column = |term: usize| -> Vec<f64> {
        let of_points = rows.iter().zip(errors);
        of_points.map(|(row, error)| row[term] / error).collect()
    };
    let mut left: Vec<f64> = heights.iter().zip(errors).map(|(y, e)| y / e).collect();
    let mut orthogonal: Vec<Vec<f64>> = Vec::with_capacity(terms);
    let mut triangle = vec![vec![0.0; terms]; terms];
    let mut projected = Vec::with_capacity(terms);
    for (term, mut own) in (0..terms).map(column).enumerate() {
        let whole = length(&own);
        for (before, direction) in orthogonal.iter().enumerate() {
            triangle[before][term] = dot(direction, &own);
            take_away(&mut own, direction, triangle[before][term]);
        }
        let rest = length(&own);
        if !(rest.is_finite() && rest > OWN_SHARE * whole) {
            return None;
        }
        own.iter_mut().for_each(|v| *v /= rest);
        triangle[term][term] = rest;
        let along = dot(&own, &left);
        take_away(&mut left, &own, along);
        projected.push(along);
        orthogonal.push(own);
    }
    let inverse: Vec<Vec<f64>> = (0..terms)
        .map(|term| {
            let mut unit = vec![0.0; terms];
            unit[term] = 1.0;
            back_substituted(&triangle, &unit)
        })
        .collect();
    let covariance = |a: usize, b: usize| inverse.iter().map(|column| column[a] * column[b]).sum();
    let solution = Solution {
        coefficients: back_substituted(&triangle, &projected),
        covariance: (0..terms)
            .map(|a| (0..terms).map(|b| covariance(a, b)).collect())
            .collect(),
        chi_square: dot(&left, &left),
    };
    solution.chi_square.is_finite().then_some(solution)
}

/// Solves `triangle` · x = `right` for an upper triangle.
fn back_substituted(triangle: &[Vec<f64>], right: &[f64]) -> Vec<f64> {
    let mut found = right.to_vec();
    for row in (0..found.len()).rev() {
        let known: f64 = (row + 1..found.len())
            .map(|column| triangle[row][column] * found[column])
            .sum();
        found[row] = (found[row] - known) / triangle[row][row];
    }
    found
}

pub(super) fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn length(of: &[f64]) -> f64 {
    dot(of, of).sqrt()
}

fn take_away(from: &mut [f64], direction: &[f64], much: f64) {
    for (value, along) in from.iter_mut().zip(direction) {
        *value -= much * along;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inseparable_terms_have_no_solution() {
        // rows, heights, why
        let table: [(&[[f64; 2]], &str); 3] = [
            (&[[1.0, 2.0], [1.0, 2.0], [1.0, 2.0]], "one x alone"),
            (&[[1.0, 0.0], [1.0, 0.0]], "a term that is zero everywhere"),
            (&[[1.0, f64::NAN], [1.0, 1.0]], "not a number"),
        ];
        for (rows, why) in table {
            let rows: Vec<Vec<f64>> = rows.iter().map(|row| row.to_vec()).collect();
            let (heights, errors) = (vec![1.0; rows.len()], vec![1.0; rows.len()]);
            assert_eq!(solve(&rows, &heights, &errors), None, "{why}");
        }
        assert_eq!(solve(&[], &[], &[]), None);
    }

    #[test]
    fn as_many_points_as_terms_fit_exactly() {
        let rows = [vec![1.0, 1.0], vec![1.0, 3.0]];
        let found = solve(&rows, &[2.0, 8.0], &[0.1, 0.4]).unwrap();
        assert!((found.coefficients[0] + 1.0).abs() < 1e-12, "{found:?}");
        assert!((found.coefficients[1] - 3.0).abs() < 1e-12, "{found:?}");
        assert!(found.chi_square < 1e-20, "{found:?}");
        // The slope is the difference of both, divided by 2.
        let slope_variance = (0.1 * 0.1 + 0.4 * 0.4) / 4.0;
        assert!((found.covariance[1][1] - slope_variance).abs() < 1e-12);
    }
}

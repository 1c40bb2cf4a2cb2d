//! Evaluates `expect`: numbers, factors and their products.

use windage_model::LevelValue;

/// Why an expectation can't be evaluated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ExpectError {
    /// A part is neither a number nor a `{factor}`.
    NotAFactorOrNumber(String),
    /// The arm has no factor of that name.
    UnknownFactor(String),
    /// The factor's level is not a number.
    NotNumeric { factor: String, level: String },
    /// The value is negative or not finite.
    OutOfRange,
}

/// Evaluates `A * B * …`, each part a number or a `{factor}` of the arm.
pub(crate) fn evaluate(text: &str, levels: &[(String, LevelValue)]) -> Result<f64, ExpectError> {
    let mut value = 1.0;
    for part in text.split('*') {
        value *= operand(part.trim(), levels)?;
    }
    bounded(value)
}

/// The value, if it can be a count per request.
pub(crate) fn bounded(value: f64) -> Result<f64, ExpectError> {
    if value.is_finite() && value >= 0.0 {
        Ok(value)
    } else {
        Err(ExpectError::OutOfRange)
    }
}

fn factor(part: &str) -> Option<&str> {
    part.strip_prefix('{')?.strip_suffix('}')
}

fn operand(part: &str, levels: &[(String, LevelValue)]) -> Result<f64, ExpectError> {
    let Some(name) = factor(part) else {
        return part
            .parse()
            .map_err(|_| ExpectError::NotAFactorOrNumber(part.to_owned()));
    };
    let Some((_, level)) = levels.iter().find(|(factor, _)| factor == name) else {
        return Err(ExpectError::UnknownFactor(name.to_owned()));
    };
    match level {
        LevelValue::Number(n) => Ok(*n),
        LevelValue::Text(text) => text.parse().map_err(|_| ExpectError::NotNumeric {
            factor: name.to_owned(),
            level: text.clone(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_factors_and_products() {
        let levels = [
            ("sampling".to_owned(), LevelValue::Number(0.5)),
            ("depth".to_owned(), LevelValue::Text("4".to_owned())),
            ("exporter".to_owned(), LevelValue::Text("otlp".to_owned())),
        ];
        let table = [
            ("1", Ok(1.0)),
            ("{sampling}", Ok(0.5)),
            ("2 * {sampling}", Ok(1.0)),
            ("{depth}*{sampling} * 3", Ok(6.0)),
            ("{nope}", Err(ExpectError::UnknownFactor("nope".to_owned()))),
            (
                "{exporter}",
                Err(ExpectError::NotNumeric {
                    factor: "exporter".to_owned(),
                    level: "otlp".to_owned(),
                }),
            ),
            (
                "2 + 2",
                Err(ExpectError::NotAFactorOrNumber("2 + 2".to_owned())),
            ),
            ("", Err(ExpectError::NotAFactorOrNumber(String::new()))),
            ("2 *", Err(ExpectError::NotAFactorOrNumber(String::new()))),
            ("-1", Err(ExpectError::OutOfRange)),
            ("inf", Err(ExpectError::OutOfRange)),
            ("nan", Err(ExpectError::OutOfRange)),
        ];
        for (text, expected) in table {
            assert_eq!(evaluate(text, &levels), expected, "{text}");
        }
    }
}

//! Fields of CSV files (RFC 4180). What a spreadsheet would run as a formula is never the beginning of a field.

/// Characters that a formula begins with in some spreadsheet.
const FORMULA_STARTS: [char; 6] = ['=', '+', '-', '@', '\t', '\r'];

/// A quoted field. Before what could be a formula stands an apostrophe, by which spreadsheets know a text.
pub(crate) fn field(text: &str) -> String {
    let guard = if text.starts_with(FORMULA_STARTS) { "'" } else { "" };
    format!("\"{guard}{}\"", text.replace('"', "\"\""))
}

#[cfg(test)]
mod tests {
    use super::field;

    #[test]
    fn quotes_fields_and_guards_formulas() {
        for (text, written) in [
            ("a \"b\"\r\nc,d", "\"a \"\"b\"\"\r\nc,d\""),
            ("", "\"\""),
            ("a=1", "\"a=1\""),
            ("=HYPERLINK(\"x\")", "\"'=HYPERLINK(\"\"x\"\")\""),
            ("+1", "\"'+1\""),
            ("-1", "\"'-1\""),
            ("@a", "\"'@a\""),
            ("\t=1", "\"'\t=1\""),
            ("\r=1", "\"'\r=1\""),
        ] {
            assert_eq!(field(text), written);
        }
    }
}

//! What tasks know of Markdown: lines outside of code blocks, links, headings and their anchors. It is no parser: links of
//! the reference style are not used in this repository.

/// The lines of a text with their numbers, without blocks of code.
pub(crate) fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut is_in_block = false;
    text.lines().zip(1..).filter_map(move |(line, number)| {
        if line.trim_start().starts_with("```") {
            is_in_block = !is_in_block;
            return None;
        }
        (!is_in_block).then_some((number, line))
    })
}

/// The targets of the links and images of a line.
pub(crate) fn links(line: &str) -> impl Iterator<Item = &str> {
    // What is in backticks is no link.
    let texts = line.split('`').step_by(2);
    texts.flat_map(|text| text.split("](").skip(1).filter_map(|rest| Some(rest.split_once(')')?.0)))
}

/// The anchors of the headings of a document.
pub(crate) fn anchors(text: &str) -> impl Iterator<Item = String> {
    lines(text).filter_map(|(_, line)| {
        let heading = line.trim_start_matches('#');
        (heading.len() < line.len() && heading.starts_with(' ')).then(|| anchor(heading.trim()))
    })
}

/// The anchor of a heading, as GitHub and mdBook make it.
pub(crate) fn anchor(heading: &str) -> String {
    let letters = heading.chars().filter(|letter| letter.is_alphanumeric() || " -_".contains(*letter));
    letters.collect::<String>().to_lowercase().replace(' ', "-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_links_outside_of_code() {
        let found: Vec<&str> = links("See [a](b.md#c), ![d](e.png) and `[f](g)`, not (h).").collect();
        assert_eq!(found, ["b.md#c", "e.png"]);
        assert_eq!(links("**[a `b` c](d.md)**").collect::<Vec<_>>(), ["d.md"]);
        assert_eq!(lines("a\n```sh\nb\n```\nc").collect::<Vec<_>>(), [(1, "a"), (5, "c")]);
    }

    #[test]
    fn makes_anchors_of_headings() {
        let text = "# Configuration reference\n## servers.json\n```\n# no heading\n```\n### `a` isn't b!\n#no heading\n";
        assert_eq!(anchors(text).collect::<Vec<_>>(), ["configuration-reference", "serversjson", "a-isnt-b"]);
    }
}

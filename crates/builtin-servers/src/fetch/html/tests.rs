//! Conversion of well-formed and malformed pages.

use super::*;

fn page(source: &str) -> HtmlPage {
    read(source, &Url::parse("https://example.com/dir/page").unwrap())
}

#[test]
fn renders_markdown() {
    let table = [
        ("<p>One <b>two</b>\n three.<p>Four &amp; five&nbsp;six", "One two three.\n\nFour & five six"),
        ("<h1>A</h1>x<h3>B <i>c</i></h3><h2></h2>y", "# A\n\nx\n\n### B c\n\ny"),
        ("a<br>b<br><br>c<hr>d", "a\nb\n\nc\n\n---\n\nd"),
        ("<div>a</div><div><div>b</div></div>c", "a\nb\nc"),
        ("<ul><li>a<li>b<ul><li>c</li></ul></li><li></li><li>d</ul>e", "- a\n- b\n  - c\n- d\n\ne"),
        ("<ol start=3><li>a<p>b</p><li><h2>c</h2></ol>", "3. a\n\n   b\n\n4. ## c"),
        ("<blockquote>a<p>b<ul><li>c</ul></blockquote>d", "> a\n\n> b\n\n> - c\n\nd"),
        ("a<pre>\n x\n   <b>y</b>\n</pre>b <code>c d</code> e", "a\n\n```\n x\n   y\n```\n\nb `c d` e"),
        ("<pre><div>a</div><div> b</div></pre>", "```\na\n b\n```"),
        (
            "<table><tr><th>A<th>B<th>C</tr><tr><td><p>1</p><td><td>3</tr></table>x",
            "A | B | C\n1 |  | 3\n\nx",
        ),
        ("<table><tr><td>a<table><tr><td>b<td>c</table><td>d</table>e", "a\n\nb | c\n\nd\n\ne"),
        (
            "<a href=/x>one</a>, <a href='y?a&amp;b'>two</a>",
            "[one](https://example.com/x), [two](https://example.com/dir/y?a&b)",
        ),
        ("<base href=//b.example/><a href=x> one </a>.", "[one](https://b.example/x) ."),
        (
            "<a href='#top'>a</a> <a href='javascript:x()'>b</a> <a href=data:,x>c</a> <a href=u></a>d",
            "a b c d",
        ),
        ("<a href=/x><h2>Head</h2><p>Text</a>", "## Head\n\nText (https://example.com/x)"),
        ("<a href=https://e.example/>https://e.example/</a>", "https://e.example/"),
        ("<img alt=' A  cat ' src=x><img src=y>", "[image: A cat]"),
        ("a<script>var x = '<p>no</p>';</script><style>p{}</style><!-- c -->b", "ab"),
        ("a<template><template>x</template>y</template>b<svg><title>no</title><svg/>z</svg>c<svg/>d", "abcd"),
        ("<noscript><p>Without <b>scripts</b></noscript>", "Without scripts"),
        ("plain < text > with 1<2 &unknown; &lt;b&gt;", "plain < text > with 1<2 &unknown; <b>"),
        ("</p></ul></a></table></pre></blockquote></code>a</li>", "a"),
        ("<ul><li><a href=/x>un<li>closed", "- un\n- closed (https://example.com/x)"),
        ("", ""),
    ];
    for (source, expected) in table {
        assert_eq!(page(source).text, expected, "{source}");
    }
}

#[test]
fn extracts_page_title() {
    let table = [
        ("<head><title> A &lt;b&gt;\n c </title></head><body>x<title>later</title>", Some("A <b> c"), "x"),
        ("<svg><title>icon</title></svg><title>T</title>x", Some("T"), "x"),
        ("<title></title>x", None, "x"),
        ("x", None, "x"),
    ];
    for (source, title, text) in table {
        let page = page(source);
        assert_eq!((page.title.as_deref(), &*page.text), (title, text), "{source}");
    }
    let long = page(&format!("<title>{}</title>", "é".repeat(1000))).title.unwrap();
    assert_eq!(long.chars().count(), MAX_TITLE_CHARS + 1);
}

#[test]
fn bounds_time_and_size() {
    let table = [
        "<div>".repeat(200_000) + "x",
        "<b><i><font>".repeat(80_000) + "x",
        "<ul><li>".repeat(100_000) + "x",
        "<blockquote>".repeat(90_000) + &"</ul>".repeat(90_000) + "x",
        "<table><tr><td>".repeat(60_000) + "x",
        "<table><tr>".to_owned() + &"<td>".repeat(200_000) + "x",
        "<svg>".repeat(200_000) + "x",
        (0..120_000).fold("<a".to_owned(), |tag, number| tag + " a" + &number.to_string()) + ">x</a>",
        format!("<base href=https://e.example/{}>", "y".repeat(1900)) + &"<a href=z>x</a>".repeat(60_000),
        "<ul>".repeat(20) + "<pre>" + &"\n".repeat(1_000_000) + "x",
        "<a href=/>x\n".repeat(80_000),
        "<".repeat(1_000_000),
        "&#".repeat(500_000),
        "<!--".repeat(250_000),
        "<p \"".repeat(250_000),
    ];
    for source in table {
        let began = std::time::Instant::now();
        let text = page(&source).text;
        let head: String = source.chars().take(40).collect();
        assert!(text.len() < 11 * 1024 * 1024, "{head}: {}", text.len());
        assert!(began.elapsed().as_secs() < 20, "{head}: {:?}", began.elapsed());
    }
}

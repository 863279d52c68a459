//! Decodes XML that tries to exhaust memory, read other files or imitate another format, and checks
//! the pointers from every piece to its bytes.

use proptest::prelude::*;
use pubdata_build::decode::{XmlContent, XmlDocument, XmlPiece};
use pubdata_core::error::{ErrorKind, Result};

/// Returns names, depths and bytes of all elements, and their text.
fn read(content: &[u8]) -> Result<Vec<(String, usize, u64, XmlContent)>> {
    let document = XmlDocument::new(content)?;
    let mut reader = document.reader();
    let mut starts = Vec::new();
    while let Some(piece) = reader.advance()? {
        if let XmlPiece::Start(element) = piece {
            starts.push((element.name.clone(), element.depth, element.offset));
        }
    }
    let mut found = Vec::new();
    for (place, (name, depth, offset)) in starts.into_iter().enumerate() {
        let mut reader = document.reader();
        let mut left = place;
        let content = loop {
            match reader.advance()?.expect("defined earlier") {
                XmlPiece::Start(_) if left == 0 => break reader.content()?,
                XmlPiece::Start(_) => left -= 1,
                XmlPiece::End(_) => {}
            }
        };
        found.push((name, depth, offset, content));
    }
    Ok(found)
}

fn refusal(content: &[u8]) -> String {
    let error = read(content).expect_err("is refused");
    assert_eq!(error.kind(), ErrorKind::Format);
    error.to_string()
}

fn only_text(content: &[u8]) -> String {
    read(content).unwrap().swap_remove(0).3.text
}

#[test]
fn every_element_leads_back_to_its_bytes() {
    let text = "\u{feff}<?xml version='1.0'?>\r\n<!-- <no/> --><a:r xmlns:a='u' xmlns='v'>é<b x='&lt;1'>two &amp; <c/>three</b>\r\n<b/><![CDATA[<d>]]></a:r>\n<?end?>\n";
    let found = read(text.as_bytes()).unwrap();
    let names: Vec<(&str, usize)> = found
        .iter()
        .map(|(name, depth, ..)| (name.as_str(), *depth))
        .collect();
    assert_eq!(names, [("r", 0), ("b", 1), ("c", 2), ("b", 1)]);
    let bytes = |place: usize| {
        let (_, _, offset, content) = &found[place];
        &text[usize::try_from(*offset).unwrap()..usize::try_from(offset + content.length).unwrap()]
    };
    assert_eq!(bytes(1), "<b x='&lt;1'>two &amp; <c/>three</b>");
    assert_eq!((bytes(2), bytes(3)), ("<c/>", "<b/>"));
    assert!(
        bytes(0).starts_with("<a:r ") && bytes(0).ends_with("</a:r>"),
        "{}",
        bytes(0)
    );
    assert_eq!(found[1].3.text, "two & three");
    assert_eq!(found[0].3.text, "étwo & three\n<d>");
}

#[test]
fn names_and_attributes_are_known_by_their_namespace() {
    let document = XmlDocument::new(b"<p:r xmlns:p='u' xmlns:q='u' xmlns='v' a='1' q:a='2&#x20;&quot;'><s xmlns='' p:a='3'/></p:r>").unwrap();
    let mut reader = document.reader();
    let Some(XmlPiece::Start(root)) = reader.advance().unwrap() else {
        panic!("begins")
    };
    assert!(root.is("u", "r") && !root.is("v", "r") && !root.is("", "r"));
    assert_eq!(
        (
            root.attribute("", "a"),
            root.attribute("u", "a"),
            root.attribute("v", "a")
        ),
        (Some("1"), Some("2 \""), None)
    );
    let Some(XmlPiece::Start(inner)) = reader.advance().unwrap() else {
        panic!("begins")
    };
    assert!(inner.is("", "s"));
    assert_eq!(
        (inner.attribute("", "a"), inner.attribute_named("a")),
        (None, Some("3"))
    );
    assert!(matches!(reader.advance().unwrap(), Some(XmlPiece::End(1))));
    assert!(matches!(reader.advance().unwrap(), Some(XmlPiece::End(0))));
    assert!(reader.advance().unwrap().is_none());
}

#[test]
fn no_entity_is_defined_expanded_or_fetched() {
    let laughs: String = (1..10)
        .map(|n| format!("<!ENTITY l{n} '{}'>", format!("&l{};", n - 1).repeat(10)))
        .collect();
    for content in [
        format!("<!DOCTYPE r [<!ENTITY l0 'ha'>{laughs}]><r>&l9;</r>"),
        "<!DOCTYPE r [<!ENTITY x SYSTEM 'file:///etc/passwd'>]><r>&x;</r>".to_owned(),
        "<!DOCTYPE r [<!ENTITY % p SYSTEM 'https://example.org/p.dtd'> %p;]><r/>".to_owned(),
        "<!DOCTYPE html><r/>".to_owned(),
        "<r><!DOCTYPE s></r>".to_owned(),
    ] {
        assert!(
            refusal(content.as_bytes()).contains("document type declaration"),
            "{content}"
        );
    }
    assert_eq!(
        refusal(b"<r>a&nbsp;b</r>"),
        "byte 4: entity `&nbsp;` is not defined"
    );
    assert!(refusal(b"<r x='&x;'/>").starts_with("byte 0: "));
    assert_eq!(
        only_text(b"<r>&lt;&gt;&amp;&quot;&apos;&#65;&#x1F600;</r>"),
        "<>&\"'A\u{1f600}"
    );
    for reference in [
        "&#0;",
        "&#8;",
        "&#xFFFF;",
        "&#xD800;",
        "&#99999999;",
        "&#x;",
        "&",
    ] {
        refusal(format!("<r>{reference}</r>").as_bytes());
    }
}

#[test]
fn malformed_xml_is_refused_with_its_byte() {
    let cases: &[(&str, &str)] = &[
        ("", "byte 0: has no root element"),
        ("<?xml version='1.0'?>\n", "byte 22: has no root element"),
        ("plain text", "byte 0: text outside the root element"),
        ("<r/>tail", "byte 4: text outside the root element"),
        ("<r/>&#65;", "byte 4: text outside the root element"),
        ("<r/><r/>", "byte 4: a second root element"),
        ("<r><a></r>", "byte 6: "),
        ("<r></r></r>", "byte 7: "),
        ("<r><a>text", "byte 10: ends inside an element"),
        ("<r><a", "byte 3: "),
        ("<r a='1' a='2'/>", "byte 0: "),
        (
            "<r xmlns:p='u' xmlns:q='u' p:a='1' q:a='2'/>",
            "byte 0: attribute `a` occurs twice",
        ),
        ("<r a=1/>", "byte 0: "),
        ("<p:r/>", "byte 0: prefix `p` is not bound to a namespace"),
        (
            "<r p:a='1'/>",
            "byte 0: prefix `p` is not bound to a namespace",
        ),
        ("<r><!-- </r>", "byte 3: "),
        ("<r>\u{0}</r>", "byte 3: a control character"),
    ];
    for (content, expected) in cases {
        let said = refusal(content.as_bytes());
        assert!(said.starts_with(expected), "{content}: {said}");
    }
}

#[test]
fn depth_and_attributes_have_a_limit_and_length_has_none() {
    let nested = |depth: usize| "<a>".repeat(depth) + &"</a>".repeat(depth);
    let document = nested(256);
    let document = XmlDocument::new(document.as_bytes()).unwrap();
    let mut reader = document.reader();
    while reader.advance().unwrap().is_some() {}
    assert!(refusal(nested(257).as_bytes()).starts_with("byte 768: more than 256 elements"));
    assert!(refusal("<a>".repeat(1_000_000).as_bytes()).starts_with("byte 768: "));
    let with_attributes = |count: usize| {
        format!(
            "<r {}/>",
            (0..count).map(|n| format!("a{n}='' ")).collect::<String>()
        )
    };
    assert!(read(with_attributes(256).as_bytes()).is_ok());
    assert!(refusal(with_attributes(257).as_bytes()).contains("more than 256 attributes"));

    let with_namespaces = |count: usize| {
        format!(
            "<a>{}</a>",
            (0..count)
                .map(|number| format!("<b xmlns='{number}'/>"))
                .collect::<String>()
        )
    };
    read(with_namespaces(1_000).as_bytes()).unwrap();
    assert!(refusal(with_namespaces(1_001).as_bytes()).contains("more than 1000 namespaces"));
    refusal(
        format!(
            "<r {}/>",
            (0..100_000)
                .map(|n| format!("xmlns:n{n}='u' "))
                .collect::<String>()
        )
        .as_bytes(),
    );
    assert_eq!(
        only_text(format!("<r>{}</r>", "x".repeat(5_000_000)).as_bytes()).len(),
        5_000_000
    );
}

#[test]
fn encodings_are_read_as_declared_or_refused() {
    let declared = |encoding: &str, text: &[u8]| {
        [
            format!("<?xml version=\"1.0\" encoding=\"{encoding}\"?><r>").as_bytes(),
            text,
            b"<b/></r>",
        ]
        .concat()
    };
    let windows = declared("windows-1252", b"\x93na\xefve\x94 \x80");
    assert_eq!(only_text(&windows), "“naïve” €");
    let inner = read(&windows).unwrap().swap_remove(1);
    let place = usize::try_from(inner.2).unwrap();
    assert_eq!(
        &windows[place..place + usize::try_from(inner.3.length).unwrap()],
        b"<b/>"
    );
    assert_eq!(
        only_text(&declared("ISO-8859-1", b"caf\xe9 \x96")),
        "café –"
    );
    assert_eq!(only_text(&declared("utf-8", "café".as_bytes())), "café");
    assert_eq!(only_text(&declared("US-ASCII", b"cafe")), "cafe");
    assert!(refusal(&declared("US-ASCII", b"caf\xe9")).contains("is not US-ASCII"));
    assert_eq!(
        refusal(b"<r>caf\xe9</r>"),
        "byte 6: is not UTF-8, which the document declares"
    );
    assert_eq!(
        refusal(b"\xef\xbb\xbf<r>caf\xe9</r>"),
        "byte 9: is not UTF-8, which the document declares"
    );
    assert!(refusal(&declared("Shift_JIS", b"x")).contains("SHIFT_JIS, which is not read"));
    let wide: Vec<u8> = "\u{feff}<r/>"
        .encode_utf16()
        .flat_map(u16::to_le_bytes)
        .collect();
    refusal(&wide);
}

fn hostile_xml() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        4 => prop::sample::select(vec!["<a>", "</a>", "<b x='1'>", "</b>", "<c/>", "<p:d xmlns:p='u'/>", "<?xml version='1.0' encoding='windows-1252'?>", "<?p q?>"]),
        2 => prop::sample::select(vec!["<![CDATA[", "]]>", "<!--", "-->", "<!DOCTYPE a>", "&amp;", "&#x41;", "&x;", "&", "<", ">", "'", "\"", "\u{feff}", " x='", "é", "\r\n"]),
    ];
    (
        proptest::collection::vec(piece.prop_map(|text| text.as_bytes().to_vec()), 0..40),
        proptest::collection::vec(any::<u8>(), 0..4),
        any::<prop::sample::Index>(),
    )
        .prop_map(|(pieces, noise, place)| {
            let mut bytes = pieces.concat();
            let place = place.index(bytes.len() + 1);
            bytes.splice(place..place, noise);
            bytes
        })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_are_read_or_refused_and_pieces_lead_back_to_them(bytes in hostile_xml()) {
        if let Ok(found) = read(&bytes) {
            for (_, _, offset, content) in found {
                let range = usize::try_from(offset).unwrap()..usize::try_from(offset + content.length).unwrap();
                let piece = bytes.get(range).expect("inside the document");
                prop_assert!(piece.starts_with(b"<") && piece.ends_with(b">"));
            }
        }
    }
}

//! Reads one file in a taxonomy: the elements that a schema declares, and the labels and
//! calculations that its linkbases attach to elements. A linkbase can be a separate file or part of
//! a schema. Source: "XBRL 2.1", sections 3.5 (links), 5.1 (concepts) and 5.2 (relationships);
//! "Calculations 1.1", which has a separate arcrole.

use std::collections::HashMap;

use crate::decode::{XmlDocument, XmlElement, XmlPiece, XmlReader};
use pubdata_core::error::{Error, Result};

const SCHEMA: &str = "http://www.w3.org/2001/XMLSchema";
const INSTANCE: &str = "http://www.xbrl.org/2003/instance";
const LINKBASE: &str = "http://www.xbrl.org/2003/linkbase";
const XLINK: &str = "http://www.w3.org/1999/xlink";
const XML: &str = "http://www.w3.org/XML/1998/namespace";
const NO_NAMESPACE: &str = "";

const CONCEPT_LABEL: &str = "http://www.xbrl.org/2003/arcrole/concept-label";
const SUMMATION: [&str; 2] = [
    "http://www.xbrl.org/2003/arcrole/summation-item",
    "https://xbrl.org/2023/arcrole/summation-item",
];

/// Offset and length in bytes.
pub(super) type Range = (u64, u64);

/// Content of a file.
#[derive(Debug, Default)]
pub(super) struct Document {
    /// Target namespace of a schema.
    pub namespace: Option<String>,
    pub elements: Vec<Element>,
    pub labels: Vec<Label>,
    pub summations: Vec<Summation>,
}

/// A global element in a schema, with its attributes unchanged.
#[derive(Debug, Default)]
pub(super) struct Element {
    pub id: Option<String>,
    pub name: Option<String>,
    pub data_type: Option<String>,
    pub substitution_group: Option<String>,
    pub period_type: Option<String>,
    pub balance: Option<String>,
    pub is_abstract: Option<String>,
    pub is_nillable: Option<String>,
    /// Date of deprecation, which early taxonomies state in the schema.
    pub deprecated_date: Option<String>,
    pub range: Range,
}

/// A label attached to an element.
#[derive(Debug, Clone)]
pub(super) struct Label {
    /// Id of the element, such as `us-gaap_Assets`.
    pub element_id: String,
    /// URI of the label's role.
    pub role: String,
    pub language: String,
    pub text: String,
    pub range: Range,
}

/// One element's contribution to another element in a statement.
#[derive(Debug, Clone)]
pub(super) struct Summation {
    pub parent_id: String,
    pub child_id: String,
    /// Weight as published: `1.0` or `-1.0`.
    pub weight: String,
    /// URI of the statement.
    pub role: String,
    pub range: Range,
}

/// Reads a file.
///
/// # Errors
/// `Format` if the file is not well-formed, or if a required attribute is missing from a link.
pub(super) fn read(content: &[u8]) -> Result<Document> {
    let xml = XmlDocument::new(content)?;
    let mut reader = xml.reader();
    let mut document = Document::default();
    let mut link: Option<Link> = None;
    while let Some(piece) = reader.advance()? {
        match piece {
            XmlPiece::End(depth) => {
                if let Some(ended) = link.take_if(|link| link.depth == depth) {
                    document.add(&ended)?;
                }
            }
            XmlPiece::Start(element) => {
                if let Some(link) = &mut link {
                    link.add(&element, &mut reader)?;
                } else if element.is(LINKBASE, "labelLink")
                    || element.is(LINKBASE, "calculationLink")
                {
                    let role = element
                        .attribute(XLINK, "role")
                        .unwrap_or_default()
                        .to_owned();
                    link = Some(Link {
                        depth: element.depth,
                        role,
                        ..Link::default()
                    });
                } else if element.depth == 0 && element.is(SCHEMA, "schema") {
                    document.namespace = element
                        .attribute(NO_NAMESPACE, "targetNamespace")
                        .map(str::to_owned);
                } else if element.depth == 1 && element.is(SCHEMA, "element") {
                    document
                        .elements
                        .push(schema_element(&element, &mut reader)?);
                }
            }
        }
    }
    Ok(document)
}

fn schema_element(element: &XmlElement, reader: &mut XmlReader<'_>) -> Result<Element> {
    let own = |name: &str| element.attribute(NO_NAMESPACE, name).map(str::to_owned);
    let of_instance = |name: &str| element.attribute(INSTANCE, name).map(str::to_owned);
    Ok(Element {
        id: own("id"),
        name: own("name"),
        data_type: own("type"),
        substitution_group: own("substitutionGroup"),
        period_type: of_instance("periodType"),
        balance: of_instance("balance"),
        is_abstract: own("abstract"),
        is_nillable: own("nillable"),
        deprecated_date: element.attribute_named("deprecatedDate").map(str::to_owned),
        range: (element.offset, reader.content()?.length),
    })
}

/// An extended link. Its names for elements and labels are valid only inside the link.
#[derive(Default)]
struct Link {
    depth: usize,
    role: String,
    /// Element ids, by the link's name for the elements.
    locators: HashMap<String, Vec<String>>,
    /// Role, language, text and byte range of labels, by the link's name for the labels.
    labels: HashMap<String, Vec<(String, String, String, Range)>>,
    label_arcs: Vec<Arc>,
    summation_arcs: Vec<(Arc, String)>,
}

struct Arc {
    from: String,
    to: String,
    range: Range,
}

impl Link {
    /// Reads a direct child of the link up to the child's end.
    fn add(&mut self, element: &XmlElement, reader: &mut XmlReader<'_>) -> Result<()> {
        let content = reader.content()?;
        let range = (element.offset, content.length);
        let given = |namespace: &str, name: &str| {
            let value = element.attribute(namespace, name).map(str::to_owned);
            value.ok_or_else(|| {
                Error::format(format!(
                    "byte {}: <{}> has no attribute `{name}`",
                    element.offset, element.name
                ))
            })
        };
        if element.is(LINKBASE, "loc") {
            let href = given(XLINK, "href")?;
            let id = href.split_once('#').map(|(_, id)| id.to_owned());
            let id = id.ok_or_else(|| {
                Error::format(format!(
                    "byte {}: `{href}` points to no element",
                    element.offset
                ))
            })?;
            self.locators
                .entry(given(XLINK, "label")?)
                .or_default()
                .push(id);
        } else if element.is(LINKBASE, "label") {
            let language = element
                .attribute(XML, "lang")
                .unwrap_or_default()
                .to_owned();
            let label = (
                given(XLINK, "role")?,
                language,
                content.text.trim().to_owned(),
                range,
            );
            self.labels
                .entry(given(XLINK, "label")?)
                .or_default()
                .push(label);
        } else if element.attribute(NO_NAMESPACE, "use") == Some("prohibited") {
            // Only extensions prohibit relationships in other files. If a publisher begins to do
            // so, this reader must support it first.
            return Err(Error::format(format!(
                "byte {}: a prohibited arc, which is not read",
                element.offset
            )));
        } else if element.is(LINKBASE, "labelArc") || element.is(LINKBASE, "calculationArc") {
            let arc = Arc {
                from: given(XLINK, "from")?,
                to: given(XLINK, "to")?,
                range,
            };
            match element.attribute(XLINK, "arcrole").unwrap_or_default() {
                CONCEPT_LABEL => self.label_arcs.push(arc),
                role if SUMMATION.contains(&role) => self
                    .summation_arcs
                    .push((arc, given(NO_NAMESPACE, "weight")?)),
                role => {
                    return Err(Error::format(format!(
                        "byte {}: an arc of the role `{role}`, which is not read",
                        element.offset
                    )));
                }
            }
        }
        Ok(())
    }

    fn located(&self, name: &str) -> Result<&[String]> {
        self.locators.get(name).map(Vec::as_slice).ok_or_else(|| {
            Error::format(format!(
                "an arc begins or ends at `{name}`, which its link does not locate"
            ))
        })
    }
}

impl Document {
    /// Resolves a link's arcs.
    fn add(&mut self, link: &Link) -> Result<()> {
        for arc in &link.label_arcs {
            let labels = link.labels.get(&arc.to).ok_or_else(|| {
                Error::format(format!(
                    "an arc ends at `{}`, which is no label of its link",
                    arc.to
                ))
            })?;
            for element_id in link.located(&arc.from)? {
                self.labels
                    .extend(labels.iter().map(|(role, language, text, range)| Label {
                        element_id: element_id.clone(),
                        role: role.clone(),
                        language: language.clone(),
                        text: text.clone(),
                        range: *range,
                    }));
            }
        }
        for (arc, weight) in &link.summation_arcs {
            for parent_id in link.located(&arc.from)? {
                for child_id in link.located(&arc.to)? {
                    let (parent_id, child_id, weight) =
                        (parent_id.clone(), child_id.clone(), weight.clone());
                    self.summations.push(Summation {
                        parent_id,
                        child_id,
                        weight,
                        role: link.role.clone(),
                        range: arc.range,
                    });
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LABEL_ROLE: &str = "http://www.xbrl.org/2003/role/label";

    /// Builds a linkbase with one link.
    fn linkbase(kind: &str, links: &str) -> String {
        let spaces = format!("xmlns:link='{LINKBASE}' xmlns:xlink='{XLINK}'");
        format!(
            "<link:linkbase {spaces}><link:{kind} xlink:role='r' xlink:type='extended'>{links}</link:{kind}></link:linkbase>"
        )
    }

    fn locator(name: &str) -> String {
        format!("<link:loc xlink:href='t.xsd#t_{name}' xlink:label='{name}'/>")
    }

    fn problem(text: &str) -> String {
        read(text.as_bytes()).unwrap_err().to_string()
    }

    #[test]
    fn names_of_links_hold_inside_their_link() {
        let arc =
            format!("<link:labelArc xlink:arcrole='{CONCEPT_LABEL}' xlink:from='A' xlink:to='l'/>");
        let label = |text: &str| {
            format!("<link:label xlink:label='l' xlink:role='{LABEL_ROLE}'>{text}</link:label>")
        };
        let one = linkbase(
            "labelLink",
            &format!("{}{arc}{}", locator("A"), label("first")),
        );
        let two = one.replace("t_A", "t_B").replace("first", "second");
        let both = one.replace("</link:linkbase>", "") + two.split_once('>').unwrap().1;
        let document = read(both.as_bytes()).unwrap();
        let found: Vec<(&str, &str)> = document
            .labels
            .iter()
            .map(|label| (label.element_id.as_str(), label.text.as_str()))
            .collect();
        assert_eq!(found, [("t_A", "first"), ("t_B", "second")]);
        let (offset, length) = document.labels[1].range;
        let place = usize::try_from(offset).unwrap();
        assert_eq!(
            &both[place..place + usize::try_from(length).unwrap()],
            label("second")
        );
    }

    #[test]
    fn links_that_do_not_hold_together_stop_the_archive() {
        let summation = |attributes: &str| {
            let arc = format!("<link:calculationArc xlink:from='A' xlink:to='B' {attributes}/>");
            linkbase(
                "calculationLink",
                &format!("{}{}{arc}", locator("A"), locator("B")),
            )
        };
        let whole = summation(&format!("weight='-1.0' xlink:arcrole='{}'", SUMMATION[1]));
        let read_whole = read(whole.as_bytes()).unwrap();
        assert_eq!(read_whole.summations.len(), 1);
        assert_eq!(
            (
                read_whole.summations[0].weight.as_str(),
                read_whole.summations[0].role.as_str()
            ),
            ("-1.0", "r")
        );
        let cases = [
            (summation("weight='1'"), "an arc of the role ``"),
            (
                summation(&format!("xlink:arcrole='{}'", SUMMATION[0])),
                "no attribute `weight`",
            ),
            (
                summation(&format!(
                    "weight='1' use='prohibited' xlink:arcrole='{}'",
                    SUMMATION[0]
                )),
                "prohibited",
            ),
            (
                whole.replace("xlink:label='B'", "xlink:label='C'"),
                "`B`, which its link does not locate",
            ),
            (whole.replace("t.xsd#t_A", "t.xsd"), "points to no element"),
            (
                whole.replace(" xlink:href='t.xsd#t_A'", ""),
                "no attribute `href`",
            ),
        ];
        for (text, expected) in cases {
            assert!(problem(&text).contains(expected), "{}", problem(&text));
        }
    }

    #[test]
    fn only_global_elements_of_a_schema_are_declared() {
        let text = format!(
            "<s:schema xmlns:s='{SCHEMA}' targetNamespace='t'><s:element name='A' id='t_A'><s:annotation/></s:element>\
             <s:complexType><s:sequence><s:element name='B'/></s:sequence></s:complexType><element name='C'/></s:schema>"
        );
        let document = read(text.as_bytes()).unwrap();
        assert_eq!(document.namespace.as_deref(), Some("t"));
        let names: Vec<_> = document
            .elements
            .iter()
            .map(|element| element.name.as_deref())
            .collect();
        assert_eq!(names, [Some("A")]);
        let (offset, length) = document.elements[0].range;
        let range = usize::try_from(offset).unwrap()..usize::try_from(offset + length).unwrap();
        assert_eq!(
            &text[range],
            "<s:element name='A' id='t_A'><s:annotation/></s:element>"
        );
    }
}

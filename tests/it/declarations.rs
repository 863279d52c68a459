use pubdata::declared::DeclarationFiles;
use pubdata::pipeline::Declarations;

#[test]
fn built_in_declarations_have_no_findings() {
    let (_, findings) = Declarations::check(DeclarationFiles::built_in());
    assert_eq!(findings, Vec::new());
}

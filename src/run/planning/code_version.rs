//! Identifies the code that made a build: the program, the builders, and the part format. A program
//! with different code is not required to reproduce the build.

use std::fmt::{Display, Formatter};

use pubdata_build::datasets;
use pubdata_core::pipeline::{Declaration, Declarations};
use pubdata_store::PART_FORMAT_VERSION;

/// Format of parts made by programs that are older than the second format. These programs did not
/// record the format.
const FIRST_PART_FORMAT: &str = "1";

/// The program's contribution to a build's input hash: `0.1.0+3.2-1`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CodeVersion {
    program: String,
    /// Code version of the pipeline's builder; 0 if the pipeline has no builder.
    builder: u32,
    part_format: u32,
    /// Code versions of the builders of the upstream pipelines.
    others: Vec<u32>,
}

impl CodeVersion {
    /// Returns the code version of this program.
    pub(super) fn todays(declarations: &Declarations, declaration: &Declaration) -> Self {
        // A declaration without a builder builds nothing. Its task is refused with a reason, and
        // other tasks are not affected.
        let version = |declaration: &Declaration| {
            datasets::builder(declaration).map_or(0, |builder| builder.code_version)
        };
        let others = declaration
            .builds_on
            .iter()
            .filter_map(|pipeline_id| declarations.pipelines.get(pipeline_id));
        Self {
            program: env!("CARGO_PKG_VERSION").to_owned(),
            builder: version(declaration),
            part_format: PART_FORMAT_VERSION,
            others: others.map(version).collect(),
        }
    }

    fn parsed(text: &str) -> Option<Self> {
        let (program, rest) = text.split_once('+')?;
        let mut numbers = rest.split('-');
        let (builder, part_format) = numbers
            .next()
            .map(|first| first.split_once('.').unwrap_or((first, FIRST_PART_FORMAT)))?;
        let others = numbers
            .map(|number| number.parse().ok())
            .collect::<Option<_>>()?;
        Some(Self {
            program: program.to_owned(),
            builder: builder.parse().ok()?,
            part_format: part_format.parse().ok()?,
            others,
        })
    }

    /// Explains why this program is not required to reproduce a build made with that code version,
    /// and which program can. Returns `None` if the code is the same.
    pub(super) fn differs_from(&self, made_by: &str, declaration: &Declaration) -> Option<String> {
        if self.to_string() == made_by {
            return None;
        }
        let pipeline_id = &declaration.pipeline_id;
        let Some(then) = Self::parsed(made_by) else {
            return Some(format!("made by code {made_by}, this program has {self}"));
        };
        // The declarations that a release keeps have sorted lists, but the build recorded the
        // versions in the order of the original declaration.
        let in_order = |version: &Self| {
            let mut version = version.clone();
            version.others.sort_unstable();
            version
        };
        let (then, today) = (in_order(&then), in_order(self));
        if then == today {
            return None;
        }
        let what = if then.builder != self.builder && self.builder == 0 {
            let builder = declaration.builder.as_deref().unwrap_or_default();
            format!(
                "made by code version {} of {pipeline_id}, this program has no builder `{builder}`",
                then.builder
            )
        } else if then.builder != self.builder {
            format!(
                "made by code version {} of {pipeline_id}, this program has {}",
                then.builder, self.builder
            )
        } else if then.others != today.others {
            let named = |numbers: &[u32]| {
                numbers
                    .iter()
                    .map(u32::to_string)
                    .collect::<Vec<_>>()
                    .join(", ")
            };
            format!(
                "made with code versions {} of what {pipeline_id} builds on, this program has {}",
                named(&then.others),
                named(&today.others)
            )
        } else if then.part_format != self.part_format {
            format!(
                "its parts have format {}, this program writes {}",
                then.part_format, self.part_format
            )
        } else {
            format!("made by pubdata {}, this is {}", then.program, self.program)
        };
        let who = match then.program == self.program {
            true => format!("the build of pubdata {} that made it can", then.program),
            false => format!("pubdata {} can", then.program),
        };
        Some(format!("{what}; {who}"))
    }
}

impl Display for CodeVersion {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> std::fmt::Result {
        write!(
            formatter,
            "{}+{}.{}",
            self.program, self.builder, self.part_format
        )?;
        self.others
            .iter()
            .try_for_each(|other| write!(formatter, "-{other}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pubdata_core::declared::DeclarationFiles;

    #[test]
    fn what_is_other_is_named_with_the_program_that_can() {
        let declarations = Declarations::load(DeclarationFiles::built_in()).unwrap();
        let declaration = &declarations.pipelines["permit.nola"];
        let today = CodeVersion {
            program: "0.2.0".to_owned(),
            builder: 4,
            part_format: 2,
            others: vec![1, 3],
        };
        let reason = |made_by: &str| today.differs_from(made_by, declaration);
        assert_eq!(reason("0.2.0+4.2-1-3"), None);
        assert_eq!(reason("0.2.0+4.2-3-1"), None);
        assert_eq!(
            reason("0.1.0+3.1-1-2").unwrap(),
            "made by code version 3 of permit.nola, this program has 4; pubdata 0.1.0 can"
        );
        assert_eq!(
            reason("0.2.0+3.2-1-3").unwrap(),
            "made by code version 3 of permit.nola, this program has 4; the build of pubdata 0.2.0 that made it can"
        );
        assert_eq!(
            reason("0.1.0+4.2-1-2").unwrap(),
            "made with code versions 1, 2 of what permit.nola builds on, this program has 1, 3; pubdata 0.1.0 can"
        );
        assert_eq!(
            reason("0.1.0+4.1-1-3").unwrap(),
            "its parts have format 1, this program writes 2; pubdata 0.1.0 can"
        );
        assert_eq!(
            reason("0.1.0+4.2-1-3").unwrap(),
            "made by pubdata 0.1.0, this is 0.2.0; pubdata 0.1.0 can"
        );
        assert_eq!(
            reason("0.1.0+3").unwrap(),
            "made by code version 3 of permit.nola, this program has 4; pubdata 0.1.0 can"
        );
        assert_eq!(
            reason("seven").unwrap(),
            "made by code seven, this program has 0.2.0+4.2-1-3"
        );
        let gone = CodeVersion {
            builder: 0,
            ..today.clone()
        };
        assert_eq!(
            gone.differs_from("0.1.0+3.2-1-3", declaration).unwrap(),
            "made by code version 3 of permit.nola, this program has no builder `permit`; pubdata 0.1.0 can"
        );
        assert_eq!(CodeVersion::parsed(&today.to_string()), Some(today));
    }
}

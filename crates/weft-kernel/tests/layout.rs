//! User space reads what the programs write: every struct of `weft-bpf`'s `weft.h` is the same on both sides, and so are AMP-FG's
//! rows, which the native build keeps.

use libbpf_rs::btf::types::{MemberAttr, Struct};
use libbpf_rs::btf::{Btf, HasSize};
use weft_kernel::abi::mirrored;
use weft_kernel::programs::KernelAlgorithm;

#[test]
fn every_field_is_where_the_compiled_programs_have_it() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for name in KernelAlgorithm::ALL {
        let file = folder.path().join(name.kernel());
        std::fs::write(&file, name.object()).expect("a temporary file");
        let btf = Btf::from_path(&file).expect("the programs have type information");
        let structs = mirrored().into_iter().filter(|here| match here.name {
            // Rules are another program's.
            "weft_rule" => false,
            "amp_fg_row" | "amp_fg_rows" => *name == KernelAlgorithm::AmpFg,
            _ => true,
        });
        for here in structs {
            let c = here.name;
            let found: Struct<'_> = btf
                .type_by_name(c)
                .unwrap_or_else(|| panic!("no {c} in {name:?}"));
            assert_eq!(found.size(), here.size, "size of {c}");
            let members: Vec<(String, usize)> = found
                .iter()
                .map(|member| {
                    let MemberAttr::Normal { offset } = member.attr else {
                        panic!("{c} has a bit field")
                    };
                    let name = member.name.map(|n| n.to_string_lossy().into_owned());
                    (name.unwrap_or_default(), offset as usize / 8)
                })
                .collect();
            let fields: Vec<(String, usize)> = here
                .fields
                .iter()
                .map(|field| (field.name.to_owned(), field.offset))
                .collect();
            assert_eq!(members, fields, "fields of {c}");
            // Without gaps, so that each field's size is as well.
            let sizes: usize = here.fields.iter().map(|field| field.size).sum();
            assert_eq!(sizes, here.size, "gaps in {c}");
        }
    }
}

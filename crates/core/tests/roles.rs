//! The number of role names that a process remembers is limited. This is a program of its own, since other tests would hit the limit.

use streamfmt_core::entry::Role;

#[test]
fn a_name_too_many_becomes_its_nearest_known_parent() {
    let mine = Role::parse("tool.name.mine").unwrap();
    for number in 0..5000 {
        Role::parse(&format!("own.{number}")).unwrap();
    }
    let known = ["own.7", "tool.name.mine", "reply"].map(|name| Role::parse(name).unwrap().name());
    assert_eq!(known, ["own.7", "tool.name.mine", "reply"]);
    assert_eq!(Role::parse("tool.name.mine.too").unwrap(), mine);
    let parents = ["own.4999", "result.note.a.b", "zzz.a"].map(|name| Role::parse(name).unwrap().name());
    assert_eq!(parents, ["text", "result.note", "text"]);
}

//! The items of a Rust file that rules inspect: functions, modules, named types, test regions.
//! Must not know: any rule.

use std::ops::Range;

use super::lex::{self, Token};

/// A function with a body.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Function {
    pub(crate) name: String,
    /// From the word `fn` to the closing brace, in bytes.
    pub(crate) span: Range<usize>,
    /// Whether it has an attribute such as `#[test]` or `#[tokio::test]`.
    pub(crate) test: bool,
}

/// A `mod name;` that names another file.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct OuterModule {
    /// The inline modules around it, outermost first.
    pub(crate) within: Vec<String>,
    pub(crate) name: String,
    /// The start of its attributes, to look for `#[path = "…"]`; its own start if there are none.
    pub(crate) attributes_at: usize,
    /// Its start.
    pub(crate) at: usize,
}

/// Every function with a body, including nested ones.
pub(crate) fn functions(tokens: &[Token<'_>]) -> Vec<Function> {
    let mut functions = Vec::new();
    let mut test = false;
    let mut index = 0;
    while index < tokens.len() {
        match tokens[index].text {
            "#" => {
                if let Some(attribute) = attribute(tokens, index) {
                    test |= is_test_attribute(&tokens[attribute.clone()]);
                    index = attribute.end;
                }
            }
            "fn" => {
                if let Some(body) = body(tokens, index) {
                    let span = tokens[index].at..tokens[lex::close(tokens, body)].at + 1;
                    functions.push(Function { name: tokens[index + 1].text.to_owned(), span, test });
                }
                test = false;
            }
            ";" | "{" | "}" => test = false,
            _ => {}
        }
        index += 1;
    }
    functions
}

/// The tokens between the brackets of the attribute whose `#` is at `index`.
fn attribute(tokens: &[Token<'_>], index: usize) -> Option<Range<usize>> {
    let inner = usize::from(tokens.get(index + 1)?.text == "!");
    let open = index + 1 + inner;
    let close = lex::close(tokens, open);
    (tokens.get(open)?.text == "[" && close > open).then_some(open + 1..close)
}

fn is_test_attribute(inside: &[Token<'_>]) -> bool {
    let path = inside.split(|token| token.text == "(").next().unwrap_or_default();
    path.last().is_some_and(|token| token.text == "test")
}

/// The brace that opens the body of the function at `index`; `None` for a declaration or a pointer type.
fn body(tokens: &[Token<'_>], index: usize) -> Option<usize> {
    if !tokens.get(index + 1)?.text.starts_with(|c: char| c.is_alphabetic() || c == '_') {
        return None;
    }
    let mut at = index + 2;
    loop {
        match tokens.get(at)?.text {
            "{" => return Some(at),
            ";" => return None,
            "(" | "[" => at = lex::close(tokens, at) + 1,
            _ => at += 1,
        }
    }
}

/// Every `mod name;`, with the inline modules around it.
pub(crate) fn outer_modules(tokens: &[Token<'_>]) -> Vec<OuterModule> {
    let mut modules = Vec::new();
    let mut inline: Vec<(String, usize)> = Vec::new();
    let mut attributes_at = None;
    let mut index = 0;
    while index < tokens.len() {
        inline.retain(|(_, end)| *end >= index);
        let token = tokens[index];
        match token.text {
            "#" => {
                attributes_at = attributes_at.or(Some(token.at));
                if let Some(attribute) = attribute(tokens, index) {
                    index = attribute.end;
                }
            }
            "mod" if tokens.len() > index + 2 => {
                let name = tokens[index + 1].text.to_owned();
                match tokens[index + 2].text {
                    ";" => modules.push(OuterModule {
                        within: inline.iter().map(|(name, _)| name.clone()).collect(),
                        name,
                        attributes_at: attributes_at.unwrap_or(token.at),
                        at: token.at,
                    }),
                    "{" => inline.push((name, lex::close(tokens, index + 2))),
                    _ => {}
                }
            }
            ";" | "{" | "}" => attributes_at = None,
            _ => {}
        }
        index += 1;
    }
    modules
}

/// Every module, struct, enum, union, trait and top-level type alias, by its name.
pub(crate) fn named<'a>(tokens: &[Token<'a>]) -> Vec<Token<'a>> {
    let mut names = Vec::new();
    let mut depth = 0_usize;
    for (index, token) in tokens.iter().enumerate() {
        let names_next = match token.text {
            "{" => {
                depth += 1;
                false
            }
            "}" => {
                depth = depth.saturating_sub(1);
                false
            }
            // In a block, `type Service = …` defines the associated type of a trait.
            "type" => depth == 0,
            "mod" | "struct" | "enum" | "union" | "trait" => true,
            _ => false,
        };
        if let Some(next) = tokens.get(index + 1).filter(|_| names_next) {
            names.push(*next);
        }
    }
    names
}

/// Each `#[allow(…)]` or `#[expect(…)]` without a reason.
pub(crate) fn allowances_without_reason<'a>(tokens: &[Token<'a>]) -> Vec<Token<'a>> {
    let mut found = Vec::new();
    for (index, token) in tokens.iter().enumerate().filter(|(_, token)| token.text == "#") {
        let Some(inside) = attribute(tokens, index).map(|range| &tokens[range]) else { continue };
        let lowers = inside.first().is_some_and(|first| matches!(first.text, "allow" | "expect"));
        if lowers && !inside.iter().any(|word| word.text == "reason") {
            found.push(*token);
        }
    }
    found
}

/// The bodies of modules under `#[cfg(test)]`, in bytes.
pub(crate) fn test_regions(tokens: &[Token<'_>]) -> Vec<Range<usize>> {
    let mut regions = Vec::new();
    let begins = tokens.windows(7).enumerate().filter(|(_, window)| {
        window.iter().map(|token| token.text).eq(["#", "[", "cfg", "(", "test", ")", "]"])
    });
    for (index, window) in begins {
        let body = tokens[index + 7..].iter().position(|token| matches!(token.text, "{" | ";"));
        if let Some(open) = body.map(|n| index + 7 + n).filter(|open| tokens[*open].text == "{") {
            regions.push(window[0].at..tokens[lex::close(tokens, open)].at + 1);
        }
    }
    regions
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::tree::File;

    fn with<T>(source: &str, check: impl Fn(&[Token<'_>]) -> T) -> T {
        check(&File::new("a.rs", source).tokens())
    }

    #[test]
    fn functions_are_found_with_their_bodies() {
        let source =
            "fn a<T: Fn(u8) -> [u8; 3]>() where T: Send { { } }\ntrait X { fn b(); }\ntype P = fn(u8);";
        let found = with(source, functions);
        assert_eq!(found.len(), 1);
        assert_eq!(&source[found[0].span.clone()], source.lines().next().unwrap());
    }

    #[test]
    fn tests_are_distinguished_from_other_functions() {
        let source = "#[test]\nfn a() {}\n#[cfg(test)]\nfn b() {}\n\
                      #[tokio::test(start_paused = true)]\n/// x\nasync fn c() {}\nfn d() {}";
        let found = with(source, functions);
        assert_eq!(found.iter().map(|f| f.test).collect::<Vec<_>>(), [true, false, true, false]);
    }

    #[test]
    fn outer_modules_know_the_inline_ones_around_them() {
        let found = with("mod a;\nmod b { pub mod c; }\n#[cfg(x)]\npub(crate) mod d;", outer_modules);
        let seen: Vec<_> = found.iter().map(|m| (m.within.join("/"), m.name.as_str())).collect();
        assert_eq!(seen, [(String::new(), "a"), ("b".to_owned(), "c"), (String::new(), "d")]);
        assert!(found[2].attributes_at < found[2].at);
    }

    #[test]
    fn names_of_types_leave_out_what_fills_in_a_foreign_trait() {
        let found = with("struct A; impl B for A { type Service = A; } type C = A; mod d {}", |tokens| {
            named(tokens).iter().map(|token| token.text.to_owned()).collect::<Vec<_>>()
        });
        assert_eq!(found, ["A", "C", "d"]);
    }

    #[test]
    fn test_regions_end_with_their_module() {
        let source = "fn a() {} #[cfg(test)] mod tests { fn b() {} } fn c() {} #[cfg(test)] mod other;";
        let found = with(source, test_regions);
        assert_eq!(found.len(), 1);
        assert!(source[found[0].clone()].ends_with("fn b() {} }"));
    }
}

//! How frames say what is wrong with them, and the grammars that only frames have; the language itself is that of every
//! request. Pure.
//! Must not know: which frames there are, or what is done with a definition.

use plenary_kernel::{Class, SovereignHandle, rfc3339};
use plenary_shape::{
    Form, Grammar, Items, Json, List, Manner, Missing, Null, Order, Twice, Unit, Unknown, bounds,
};
use schemars::json_schema;

use crate::{
    limits::{ITEMS_MAX, REFERENCE_OCTETS_MAX, SCOPE_OCTETS_MAX, TEXT_OCTETS_MAX},
    scope::Scope,
};

/// Objects are closed (section 12 of the memo). Faults come in the order unknown, missing, invalid, at every level
/// (wire.md D.5), and null is a value.
pub static MANNER: Manner = Manner {
    class: Class::Malformed,
    quote: "`",
    stop: ".",
    integer: "an integer, ",
    code: "field-invalid",
    whole: ("field-invalid", "A frame is one JSON object"),
    twice: Twice::Each("field-invalid", " must be sent once"),
    missing: Missing::Code("field-missing", " is required"),
    unknown: Unknown::Refused("field-unknown", " is not a field here"),
    null: Null::Wrong,
    order: Order::MissingFirst,
    types_first: false,
    items: Items::Each,
    describes_forms: true,
};

/// Text of so many bytes.
#[must_use]
pub const fn text(min: u64, max: u64) -> Form {
    Form::Text(Unit::Bytes, bounds(min, max))
}

/// So many texts of so many bytes.
#[must_use]
pub const fn texts(min: u64, octets_max: u64) -> List {
    List { items: bounds(min, ITEMS_MAX), of: text(1, octets_max), noun: "", type_says: "", is_set: false }
}

/// A member of the envelope that is checked before all others: the version or the kind.
pub const SELECTOR: Form =
    Form::Json(&Json { check: |_| Ok(()), schema: |_| json_schema!({"type": "string"}) });
/// The kind's own shape.
pub const PAYLOAD: Form =
    Form::Json(&Json { check: |_| Ok(()), schema: |_| json_schema!({"type": "object"}) });
/// A version-4 UUID.
pub const UUID: Form = Form::Of(&Grammar {
    wants: "a version-4 UUID",
    check: |text| plain(is_uuid_4(text)),
    schema: |_| {
        json_schema!({
            "type": "string",
            "pattern": "^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-4[0-9a-fA-F]{3}-[89abAB][0-9a-fA-F]{3}-[0-9a-fA-F]{12}$",
        })
    },
});
/// A canonical handle.
pub const HANDLE: Form = Form::Of(&Grammar {
    wants: "a canonical handle, ~owner",
    check: |text| plain(text.parse::<SovereignHandle>().is_ok()),
    schema: |_| json_schema!({"type": "string", "pattern": "^~[a-z0-9](?:[a-z0-9_-]{0,62}[a-z0-9])?$"}),
});
/// A canonical handle that must be the sender's own principal; that is judged after the shape.
pub const PRINCIPAL: Form = Form::Of(&OWN_PRINCIPAL);
pub(crate) static OWN_PRINCIPAL: Grammar = Grammar {
    wants: "the sender's own canonical handle, ~owner",
    check: |text| plain(text.parse::<SovereignHandle>().is_ok()),
    schema: |_| json_schema!({"type": "string", "pattern": "^~[a-z0-9](?:[a-z0-9_-]{0,62}[a-z0-9])?$"}),
};
/// A canonical handle, perhaps with `@version` behind it.
pub const INSTRUMENT: Form = Form::Of(&Grammar {
    wants: "a canonical handle, ~name or ~name@version",
    check: |text| plain(is_instrument(text)),
    schema: |_| {
        json_schema!({
            "type": "string",
            "pattern": "^~[a-z0-9](?:[a-z0-9_-]{0,62}[a-z0-9])?(?:@[A-Za-z0-9._+-]{1,64})?$",
        })
    },
});
/// An RFC 3339 time with a zone.
pub const TIME: Form = Form::Of(&Grammar {
    wants: "an RFC 3339 time with a zone",
    check: |text| plain(rfc3339::parse(text).is_some()),
    schema: |_| json_schema!({"type": "string", "format": "date-time"}),
});
/// A recipient scope.
pub const SCOPE: Form = Form::Of(&Grammar {
    wants: "a recipient scope of 1 to 512 bytes",
    check: |text| plain(text.len() as u64 <= SCOPE_OCTETS_MAX && text.parse::<Scope>().is_ok()),
    schema: |_| json_schema!({"type": "string", "minLength": 1, "maxLength": SCOPE_OCTETS_MAX}),
});
/// An identifier within a namespace.
pub const NAMESPACED: Form = Form::Of(&Grammar {
    wants: "a string of 1 to 128 bytes with a namespace (`.`, `:` or `/`)",
    check: |text| plain((1..=128).contains(&text.len()) && text.contains(['.', ':', '/'])),
    schema: |_| json_schema!({"type": "string", "minLength": 1, "maxLength": 128, "pattern": "[.:/]"}),
});
/// Text of 1 to 2048 octets, the memo's bound for prose.
pub const PROSE: Form = text(1, TEXT_OCTETS_MAX);
/// A reference: a pointer to something, never the thing itself (section 5.12).
pub const REFERENCE: Form = text(1, REFERENCE_OCTETS_MAX);
/// Some references.
pub const REFERENCES: Form = Form::List(&texts(0, REFERENCE_OCTETS_MAX));

/// What is wrong is said in the words of the form.
fn plain(fits: bool) -> Result<(), String> {
    if fits { Ok(()) } else { Err(String::new()) }
}

/// `xxxxxxxx-xxxx-4xxx-[89ab]xxx-xxxxxxxxxxxx`, in either case (FO-7).
fn is_uuid_4(text: &str) -> bool {
    text.len() == 36
        && text.bytes().enumerate().all(|(nth, octet)| match nth {
            8 | 13 | 18 | 23 => octet == b'-',
            14 => octet == b'4',
            19 => matches!(octet, b'8' | b'9' | b'a' | b'b' | b'A' | b'B'),
            _ => octet.is_ascii_hexdigit(),
        })
}

/// A canonical handle, perhaps with `@version` (wire.md D.1).
fn is_instrument(text: &str) -> bool {
    let is_version = |version: &str| {
        (1..=64).contains(&version.len())
            && version.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'+' | b'-'))
    };
    let (handle, version) = match text.split_once('@') {
        Some((handle, version)) => (handle, Some(version)),
        None => (text, None),
    };
    handle.parse::<SovereignHandle>().is_ok() && version.is_none_or(is_version)
}

//! The recipients of a frame: the scope, a string, and its principal (FO-43 to FO-52).
//! Must not know: the online sessions; the server expands a scope on delivery.

use std::{fmt, str::FromStr};

use plenary_kernel::SovereignHandle;

use crate::Error;

/// A recipient scope that names its principal. The server checks the rest of its grammar.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scope {
    text: String,
    recipient: SovereignHandle,
}

impl Scope {
    /// `~handle/*`: every session of a principal.
    pub fn everyone(handle: &SovereignHandle) -> Self {
        Self { text: format!("{handle}/*"), recipient: handle.clone() }
    }

    /// `~handle/<instrument>@<session-id>`: one session.
    pub fn session(handle: &SovereignHandle, instrument: &str, session_id: &str) -> Self {
        Self { text: format!("{handle}/{instrument}@{session_id}"), recipient: handle.clone() }
    }

    /// The scope in its wire form.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Its principal: the `recipient_handle` of a frame sent to it (FO-48); for an organisation `~<org>` (wire.md D.4).
    pub fn recipient(&self) -> &SovereignHandle {
        &self.recipient
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl FromStr for Scope {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let bad = || {
            Error::Invalid(format!(
                "`{text}` is not a recipient scope; write ~owner, ~owner/*, ~owner/cc-*, ~owner/instrument@session, \
                 org:name/members/*, org:name/members/role/* or accord:peer/grant:name"
            ))
        };
        let (named, rest) = match text.split_once(':') {
            Some(("org" | "accord", rest)) => {
                (format!("~{}", rest.split('/').next().unwrap_or_default()), rest)
            }
            Some(_) => return Err(bad()),
            None => (text.split('/').next().unwrap_or_default().to_owned(), text),
        };
        let recipient = named.parse().map_err(|_| bad())?;
        let needs_more = text.contains(':') && !rest.contains('/');
        if needs_more || rest.ends_with('/') {
            Err(bad())
        } else {
            Ok(Self { text: text.to_owned(), recipient })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fo_48_a_scope_names_its_principal() {
        for (text, recipient) in [
            ("~nick", "~nick"),
            ("~nick/*", "~nick"),
            ("~nick/cc-*", "~nick"),
            ("~nick/cc@s-1", "~nick"),
            ("org:acme/members/*", "~acme"),
            ("org:acme/members/lead/*", "~acme"),
            ("accord:acme/grant:read", "~acme"),
        ] {
            let scope: Scope = text.parse().unwrap();
            assert_eq!((scope.as_str(), scope.recipient().as_str()), (text, recipient));
        }
        for bad in ["", "nick", "~", "~Nick/*", "@nick.a", "org:acme", "team:acme/*", "~nick/"] {
            assert!(bad.parse::<Scope>().is_err(), "{bad}");
        }
    }
}

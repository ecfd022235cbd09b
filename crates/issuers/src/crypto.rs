//! Signatures for `jsonwebtoken`, verified by ring: the library brings RustCrypto or AWS-LC, and this server already
//! has ring.
//! Must not know: the source of a key.

use std::sync::Once;

use jsonwebtoken::{
    Algorithm, DecodingKey, DecodingKeyKind,
    crypto::{CryptoProvider, JwtVerifier, KeyUtils},
    errors::{ErrorKind, Result},
};
use ring::signature::{self as signatures, RsaParameters, RsaPublicKeyComponents, UnparsedPublicKey};
use signature::Verifier;

static RING: CryptoProvider = CryptoProvider {
    signer_factory: |_, _| Err(ErrorKind::InvalidAlgorithm.into()),
    verifier_factory: verifier,
    key_utils: KeyUtils::new_unimplemented(),
};

/// Makes ring the verifier of `jsonwebtoken`. Only the first call has an effect.
pub(crate) fn install() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let _another = RING.install_default().err();
    });
}

struct RingVerifier {
    algorithm: Algorithm,
    key: PublicKey,
}

enum PublicKey {
    Rsa(&'static RsaParameters, RsaPublicKeyComponents<Vec<u8>>),
    Curve(UnparsedPublicKey<Vec<u8>>),
}

#[expect(clippy::wildcard_enum_match_arm, reason = "the enum grows; what is not named is refused")]
fn verifier(algorithm: &Algorithm, key: &DecodingKey) -> Result<Box<dyn JwtVerifier>> {
    let rsa = match algorithm {
        Algorithm::RS256 => Some(&signatures::RSA_PKCS1_2048_8192_SHA256),
        Algorithm::RS384 => Some(&signatures::RSA_PKCS1_2048_8192_SHA384),
        Algorithm::RS512 => Some(&signatures::RSA_PKCS1_2048_8192_SHA512),
        Algorithm::PS256 => Some(&signatures::RSA_PSS_2048_8192_SHA256),
        Algorithm::PS384 => Some(&signatures::RSA_PSS_2048_8192_SHA384),
        Algorithm::PS512 => Some(&signatures::RSA_PSS_2048_8192_SHA512),
        _ => None,
    };
    let curve: Option<&'static dyn signatures::VerificationAlgorithm> = match algorithm {
        Algorithm::ES256 => Some(&signatures::ECDSA_P256_SHA256_FIXED),
        Algorithm::ES384 => Some(&signatures::ECDSA_P384_SHA384_FIXED),
        Algorithm::EdDSA => Some(&signatures::ED25519),
        _ => None,
    };
    if key.family() != algorithm.family() {
        return Err(ErrorKind::InvalidKeyFormat.into());
    }
    let key = match (rsa, curve, key.kind()) {
        (Some(parameters), _, DecodingKeyKind::RsaModulusExponent { n, e }) => {
            PublicKey::Rsa(parameters, RsaPublicKeyComponents { n: n.clone(), e: e.clone() })
        }
        (_, Some(algorithm), DecodingKeyKind::SecretOrDer(bytes)) => {
            PublicKey::Curve(UnparsedPublicKey::new(algorithm, bytes.clone()))
        }
        _ => return Err(ErrorKind::InvalidAlgorithm.into()),
    };
    Ok(Box::new(RingVerifier { algorithm: *algorithm, key }))
}

impl Verifier<Vec<u8>> for RingVerifier {
    fn verify(&self, message: &[u8], signature: &Vec<u8>) -> std::result::Result<(), signature::Error> {
        let verified = match &self.key {
            PublicKey::Rsa(parameters, key) => key.verify(parameters, message, signature),
            PublicKey::Curve(key) => key.verify(message, signature),
        };
        verified.map_err(|_| signature::Error::new())
    }
}

impl JwtVerifier for RingVerifier {
    fn algorithm(&self) -> Algorithm {
        self.algorithm
    }
}

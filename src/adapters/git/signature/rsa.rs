//! RSA keys of SSH that sign, by `ring`.
//!
//! The conversion of `ssh-key` 0.6 takes the first prime for both, so that no key of SSH can sign. It does not know what is
//! signed.

use ring::rand::SystemRandom;
use ring::rsa::{KeyPairComponents, PublicKeyComponents};
use ring::signature::{RSA_PKCS1_SHA512, RsaKeyPair};
use ssh_key::Mpint;
use ssh_key::private::RsaKeypair;

/// A private key.
pub(super) struct RsaKey(RsaKeyPair);

impl RsaKey {
    /// Takes a key of SSH.
    ///
    /// # Errors
    /// When its numbers do not fit each other, or it is too short or too long.
    pub(super) fn of(pair: &RsaKeypair) -> Result<Self, String> {
        let (public, private) = (&pair.public, &pair.private);
        let number = |number: &Mpint| number.as_positive_bytes().unwrap_or_default().to_vec();
        let (d, p, q) = (number(&private.d), number(&private.p), number(&private.q));
        let components = KeyPairComponents {
            public_key: PublicKeyComponents {
                n: number(&public.n),
                e: number(&public.e),
            },
            dP: remainder(&d, &less_one(&p)),
            dQ: remainder(&d, &less_one(&q)),
            qInv: number(&private.iqmp),
            d,
            p,
            q,
        };
        let made = RsaKeyPair::from_components(&components);
        made.map(Self).map_err(|cause| {
            format!("it is no RSA key of 2048 to 4096 bits ({cause}); make one with `ssh-keygen -t ed25519`")
        })
    }

    /// The signature of a text with SHA-512; `None` if the system has no random numbers.
    pub(super) fn sign(&self, text: &[u8]) -> Option<Vec<u8>> {
        let mut signature = vec![0; self.0.public().modulus_len()];
        let signed = self.0.sign(
            &RSA_PKCS1_SHA512,
            &SystemRandom::new(),
            text,
            &mut signature,
        );
        signed.is_ok().then_some(signature)
    }
}

/// An odd number less one.
fn less_one(odd: &[u8]) -> Vec<u8> {
    let mut even = odd.to_vec();
    if let Some(last) = even.last_mut() {
        *last &= !1;
    }
    even
}

/// The remainder of a division, bit by bit, without leading zeros; the highest byte of a number comes first.
fn remainder(number: &[u8], divisor: &[u8]) -> Vec<u8> {
    // A byte more, since twice a remainder may be longer than the divisor.
    let divisor = [&[0], divisor].concat();
    let mut rest = vec![0_u8; divisor.len()];
    let bits = number
        .iter()
        .flat_map(|byte| (0..8).rev().map(move |at| (byte >> at) & 1));
    for bit in bits {
        let mut carry = bit;
        for digit in rest.iter_mut().rev() {
            let next = *digit >> 7;
            *digit = (*digit << 1) | carry;
            carry = next;
        }
        if rest >= divisor {
            subtract(&mut rest, &divisor);
        }
    }
    rest.into_iter().skip_while(|digit| *digit == 0).collect()
}

/// Takes a number from one of the same length that is not smaller.
fn subtract(from: &mut [u8], number: &[u8]) {
    let mut borrow = false;
    for (digit, less) in from.iter_mut().zip(number).rev() {
        let (once, first) = digit.overflowing_sub(*less);
        let (twice, second) = once.overflowing_sub(u8::from(borrow));
        (*digit, borrow) = (twice, first || second);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_remainder_is_that_of_the_division() {
        let bytes = |number: u128| {
            let bytes = number.to_be_bytes().into_iter();
            bytes.skip_while(|byte| *byte == 0).collect::<Vec<u8>>()
        };
        // Numbers of all lengths, those around powers of two among them.
        let mut number: u128 = 1;
        for _ in 0..2_000 {
            number = number
                .wrapping_mul(0x2545_f491_4f6c_dd1d_8c6f_27ab_ce4d_5a17)
                .wrapping_add(1);
            let divisor = (number.rotate_left(17) >> (number % 127)).max(1);
            for number in [
                number,
                number >> (number % 128),
                divisor,
                divisor - 1,
                divisor << 1,
            ] {
                assert_eq!(
                    remainder(&bytes(number), &bytes(divisor)),
                    bytes(number % divisor)
                );
            }
        }
    }
}

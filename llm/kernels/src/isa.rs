//! Instruction sets: one zero-size token each, got only by detection, so that holding one proves the CPU has it.

use crate::error::{Error, Result};
use std::sync::OnceLock;

/// Defines a token and the list of CPU features behind it; [`with_features`] reuses the same list.
macro_rules! token {
    ($(#[$doc:meta])* $name:ident, $cfg:meta, $detect:ident, [$($feature:tt),+]) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub struct $name(());

        impl $name {
            /// The token, if this machine has every feature.
            pub fn detect() -> Option<Self> {
                #[cfg($cfg)]
                if true $(&& std::arch::$detect!($feature))+ {
                    return Some(Self(()));
                }
                None
            }
        }
    };
}

token!(
    /// AVX2 with FMA and F16C: x86-64 since 2013.
    Avx2, target_arch = "x86_64", is_x86_feature_detected, ["avx2", "fma", "f16c"]
);
token!(
    /// AVX2 with 256-bit VNNI: Alder Lake and later without AVX-512.
    AvxVnni, target_arch = "x86_64", is_x86_feature_detected, ["avx2", "fma", "f16c", "avxvnni"]
);
token!(
    /// AVX-512 with VNNI: Ice Lake, Zen 4 and later.
    Avx512Vnni, target_arch = "x86_64", is_x86_feature_detected,
    ["avx2", "fma", "f16c", "avx512f", "avx512bw", "avx512dq", "avx512vl", "avx512vnni"]
);
token!(
    /// Arm NEON with the 8-bit dot product: Cortex-A75, Apple A11 and later.
    NeonDot, target_arch = "aarch64", is_aarch64_feature_detected, ["neon", "fp16", "dotprod"]
);
token!(
    /// Arm NEON with 8-bit matrix multiplication: Cortex-X2/A710, Apple M2 and later.
    NeonI8mm, target_arch = "aarch64", is_aarch64_feature_detected, ["neon", "fp16", "dotprod", "i8mm"]
);

/// The instruction set that the kernels use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Isa {
    /// Portable code, the reference.
    Scalar,
    /// See [`Avx2`].
    Avx2(Avx2),
    /// See [`AvxVnni`].
    AvxVnni(AvxVnni),
    /// See [`Avx512Vnni`].
    Avx512Vnni(Avx512Vnni),
    /// See [`NeonDot`].
    NeonDot(NeonDot),
    /// See [`NeonI8mm`].
    NeonI8mm(NeonI8mm),
}

impl Isa {
    /// All that this machine has and that there are kernels for, slowest first; always begins with `Scalar`. The Arm
    /// sets are not among them: their kernels are not written, and a report must not name what does not run.
    pub fn available() -> Vec<Isa> {
        let found = [
            Some(Isa::Scalar),
            Avx2::detect().map(Isa::Avx2),
            AvxVnni::detect().map(Isa::AvxVnni),
            Avx512Vnni::detect().map(Isa::Avx512Vnni),
        ];
        found.into_iter().flatten().collect()
    }

    /// The fastest of this machine, or the one that the environment variable `POCKET_VOICE_ISA` names.
    ///
    /// # Errors
    /// When the variable names a set that is not available here.
    pub fn choose() -> Result<Isa> {
        static CHOICE: OnceLock<std::result::Result<Isa, (String, String)>> = OnceLock::new();
        let choice = CHOICE.get_or_init(|| {
            let available = Isa::available();
            match std::env::var("POCKET_VOICE_ISA") {
                Ok(asked) if !asked.is_empty() => available
                    .iter()
                    .copied()
                    .find(|isa| isa.name() == asked)
                    .ok_or_else(|| (asked, available.iter().map(|isa| isa.name()).collect::<Vec<_>>().join(", "))),
                _ => Ok(available.last().copied().unwrap_or(Isa::Scalar)),
            }
        });
        choice.clone().map_err(|(asked, available)| Error::Isa { asked, available })
    }

    /// The name used in `POCKET_VOICE_ISA` and in reports.
    pub fn name(self) -> &'static str {
        match self {
            Isa::Scalar => "scalar",
            Isa::Avx2(_) => "avx2",
            Isa::AvxVnni(_) => "avx-vnni",
            Isa::Avx512Vnni(_) => "avx512-vnni",
            Isa::NeonDot(_) => "neon-dotprod",
            Isa::NeonI8mm(_) => "neon-i8mm",
        }
    }
}

/// Defines a safe function that takes the [`Isa`] first, over a body generic in [`crate::lanes::Lanes`]; the
/// body is compiled once per instruction set.
macro_rules! dispatch {
    ($(#[$doc:meta])* $vis:vis fn $name:ident($($arg:ident: $ty:ty),* $(,)?) $(-> $ret:ty)? = $body:ident) => {
        $(#[$doc])*
        #[allow(unsafe_code, clippy::too_many_arguments, reason = "calls a function compiled for a detected instruction set")]
        $vis fn $name(isa: $crate::isa::Isa, $($arg: $ty),*) $(-> $ret)? {
            #[cfg(target_arch = "x86_64")]
            {
                #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx2,fma,f16c")]
                fn avx512($($arg: $ty),*) $(-> $ret)? {
                    $body::<$crate::lanes::F32x16>($($arg),*)
                }
                #[target_feature(enable = "avx2,fma,f16c")]
                fn avx2($($arg: $ty),*) $(-> $ret)? {
                    $body::<$crate::lanes::F32x8x2>($($arg),*)
                }
                match isa {
                    // SAFETY: the token proves that the CPU has the features.
                    $crate::isa::Isa::Avx512Vnni(_) => return unsafe { avx512($($arg),*) },
                    // SAFETY: as above.
                    $crate::isa::Isa::Avx2(_) | $crate::isa::Isa::AvxVnni(_) => return unsafe { avx2($($arg),*) },
                    _ => (),
                }
            }
            let _ = isa;
            $body::<[f32; 16]>($($arg),*)
        }
    };
}
pub(crate) use dispatch;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scalar_is_always_there_and_names_differ() {
        let available = Isa::available();
        assert_eq!(available[0], Isa::Scalar);
        for (i, a) in available.iter().enumerate() {
            assert!(available[i + 1..].iter().all(|b| a.name() != b.name()));
        }
    }
}

//! The machine a file is for: operating system and processor.

use std::fmt;
use std::str::FromStr;

/// Operating system and processor, printed and parsed as `linux-x86_64`, `macos-aarch64` and so on.
#[derive(Clone, Debug, PartialEq, Eq, serde::Deserialize)]
#[serde(try_from = "String")]
pub struct Platform {
    os: String,
    arch: String,
}

impl Platform {
    /// The platform this program was built for.
    #[must_use]
    pub fn current() -> Self {
        Self { os: std::env::consts::OS.into(), arch: std::env::consts::ARCH.into() }
    }
}

impl fmt::Display for Platform {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.os, self.arch)
    }
}

impl FromStr for Platform {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let known_os = ["linux", "macos", "windows", "android", "ios"];
        let known_arch = ["x86_64", "aarch64"];
        match text.split_once('-') {
            Some((os, arch)) if known_os.contains(&os) && known_arch.contains(&arch) => {
                Ok(Self { os: os.into(), arch: arch.into() })
            }
            _ => Err(format!("`{text}` is no platform such as linux-x86_64")),
        }
    }
}

impl TryFrom<String> for Platform {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

#[cfg(test)]
mod tests {
    use super::Platform;

    #[test]
    fn names_round_trip_and_nonsense_is_refused() {
        for name in ["linux-x86_64", "linux-aarch64", "macos-aarch64", "windows-x86_64"] {
            assert_eq!(name.parse::<Platform>().unwrap().to_string(), name);
        }
        for name in ["", "linux", "x86_64-linux", "linux-x86_64-gnu", "plan9-x86_64"] {
            assert!(name.parse::<Platform>().is_err(), "{name}");
        }
    }
}

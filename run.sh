#!/bin/sh
# The one command: installs what is missing, builds, brings the models, asks a spoken question and plays the answer into a
# file. Everything is skipped that is there already; then no network is needed.
#
#   ./run.sh [PROFILE]      PROFILE is en (default) or zh-en
set -eu
cd "$(dirname "$0")"
profile=${1:-en}

. scripts/prepare.sh
prepare_system "$profile"
build --package pocket-voice
bring_models "$profile"

question=assets/audio/demo.wav
answer=answer.wav
say "Asking $question; the answer goes to $answer"
target/release/pocket-voice ask "$question" --out "$answer"
say "Done. Listen to $answer, or talk: target/release/pocket-voice talk"

#!/usr/bin/env bash
# Is what a CI job checked out slower than what it is to be merged into? action.yml and templates/compare.yml run this,
# with their inputs in variables: BASE, HEAD, BUILD, COMMAND, ADDRESS, COUNT, NAME and HISTORY. Both revisions are built and
# measured in turns in this job, so that the machine is the same for both; first the instructions of a request are counted,
# which a busy runner does not change. It fails where a verdict is MORE or SLOWER (exit code 3) or nothing could be
# measured (1, 2); INCONCLUSIVE and INVALID (4) are no failure on machines that are shared.
# HISTORY is a branch that has nothing but results. A push to the branch DEFAULT compares with the history's anchor instead, adds
# the result there, and fails where a change is confirmed (3); other jobs only show its picture.
set -euo pipefail
into=${GITHUB_BASE_REF:-${CI_MERGE_REQUEST_TARGET_BRANCH_NAME:-}} # of a request, which has one
base=${BASE:-${into:+origin/$into}}
base=${base:-HEAD^}
folder=${CI_PROJECT_DIR:-${RUNNER_TEMP:-.}}/$NAME
mkdir -p "$folder"

# The program of the release RELEASES VERSION, checked; without it, as for a branch, that of the sources next to this.
get_contend() {
  local os arch file sources sum=sha256sum
  command -v $sum >/dev/null || sum="shasum -a 256"
  os=$(uname -s | tr '[:upper:]' '[:lower:]') arch=$(uname -m)
  case $arch in x86_64) arch=amd64 ;; aarch64) arch=arm64 ;; esac
  file=contend_${os}_$arch.tar.gz sources=$(dirname "$0")/../..
  export PATH=$folder/bin:$PATH
  mkdir -p "$folder/bin"
  if (cd "$folder/bin" && curl -fsSLO --retry 3 "$RELEASES/download/$VERSION/$file" -O "$RELEASES/download/$VERSION/checksums.txt"); then
    (cd "$folder/bin" && grep " $file\$" checksums.txt | $sum -c - && tar -xzf "$file" contend) >&2
  elif [ -e "$sources/go.mod" ] && command -v go >/dev/null; then
    echo "There is no $RELEASES/download/$VERSION/$file: building contend takes some minutes." >&2
    (cd "$sources" && flags=$(deploy/flags) && CGO_ENABLED=0 go build $flags -o "$folder/bin/contend" ./cmd/contend)
  else
    echo "There is no $RELEASES/download/$VERSION/$file, and no Go to build contend with: give a version that was released, or set up Go before." >&2
    exit 1
  fi
}

# The commits that are compared, also where only the newest was checked out.
fetch() {
  git rev-parse --quiet --verify "$1^{commit}" >/dev/null && return
  git fetch --quiet --no-tags --unshallow origin "+refs/heads/*:refs/remotes/origin/*" || git fetch --quiet --no-tags origin "+refs/heads/*:refs/remotes/origin/*"
}

failed=0
compare() { # FILE OPTION…: adds its answer to the comment
  local file=$1 code=0
  shift
  if $keeps; then set -- "$@" --history "$perf"; fi
  [ -n "$anchor" ] || set -- "$@" --revisions "$base,$HEAD"
  contend compare "$@" --build "$BUILD" --url "$ADDRESS" --markdown \
    --junit "$folder/$file.xml" --html "$folder/$file.html" -o "$folder/$file.json" -- "$COMMAND" >>"$folder/comment.md" || code=$?
  case $code in 0 | 4) ;; 3) $keeps || failed=3 ;; *) failed=$code ;; esac
}

# The branch HISTORY in a folder; where it is not there yet, without a file.
perf=$folder/perf
open_history() {
  rm -rf "$perf" && git worktree prune # of a job before, in a folder that runners keep
  if git fetch --quiet --no-tags origin "$HISTORY" 2>/dev/null; then
    git worktree add --quiet --force --detach "$perf" FETCH_HEAD
  elif $keeps; then
    git worktree add --quiet --force --detach "$perf"
    git -C "$perf" checkout --quiet --orphan "$HISTORY"
    git -C "$perf" rm -rf --quiet --ignore-unmatch .
  fi
}

# Fails where the history has nothing, as after nothing could be measured.
draw_history() { contend history --format svg "$perf" >"$folder/history.svg" && mv "$folder/history.svg" "$perf"; }

# What was added goes to the branch, also if others add to it meanwhile: files of results have names of their own.
keep_history() {
  local to=origin try
  [ -z "${CONTEND_TOKEN:-}" ] || to=https://oauth2:$CONTEND_TOKEN@${CI_SERVER_HOST:-}/${CI_PROJECT_PATH:-}.git
  for try in 1 2 3 4 5; do
    draw_history && git -C "$perf" add --all
    git -C "$perf" -c user.name=contend -c user.email=contend@localhost commit --quiet -m "$(git rev-parse HEAD)"
    git -C "$perf" push --quiet "$to" "HEAD:refs/heads/$HISTORY" && return
    sleep "$try"
    git -C "$perf" fetch --quiet --no-tags origin "$HISTORY" || continue
    git -C "$perf" reset --quiet FETCH_HEAD && git -C "$perf" checkout --quiet -- .
  done
  return 1
}

show_history() {
  local at pictures=${GITHUB_SERVER_URL:-}/${GITHUB_REPOSITORY:-}/raw
  [ -z "${CI_PROJECT_URL:-}" ] || pictures=$CI_PROJECT_URL/-/raw
  at=$(git -C "$perf" rev-parse HEAD)
  printf '\n![%s over the commits of %s](%s/%s/history.svg)\n' "$NAME" "$DEFAULT" "$pictures" "$at" >>"$folder/comment.md"
}

verdict() { # FILE
  sed -n 's/^ *"verdict": "\([A-Z]*\)".*/\1/p' "$folder/$1.json" 2>/dev/null | head -n 1
}

comment_on_github() {
  local number=${GITHUB_REF#refs/pull/} known
  number=${number%%/*}
  known=$(gh api --paginate "repos/$GITHUB_REPOSITORY/issues/$number/comments" --jq ".[] | select(.body | startswith(\"$mark\")) | .id" | tail -n 1)
  if [ -n "$known" ]; then
    gh api --silent -X PATCH "repos/$GITHUB_REPOSITORY/issues/comments/$known" -F "body=@$folder/comment.md"
  else
    gh api --silent "repos/$GITHUB_REPOSITORY/issues/$number/comments" -F "body=@$folder/comment.md"
  fi
}

comment_on_gitlab() {
  curl -fsS -o /dev/null --header "PRIVATE-TOKEN: $CONTEND_TOKEN" --data-urlencode "body@$folder/comment.md" \
    "$CI_API_V4_URL/projects/$CI_PROJECT_ID/merge_requests/$CI_MERGE_REQUEST_IID/notes"
}

command -v contend >/dev/null || get_contend
fetch "$base"
mark="<!-- contend $NAME -->"
printf '%s\n\n' "$mark" >"$folder/comment.md"
keeps=false anchor=
if [ -n "${HISTORY:-}" ]; then
  case ${GITHUB_EVENT_NAME:-}:${GITHUB_REF:-} in push:refs/heads/$DEFAULT) keeps=true ;; esac
  [ -z "${CI_COMMIT_BRANCH:-}" ] || [ "$CI_COMMIT_BRANCH" != "$DEFAULT" ] || keeps=true
  open_history
fi
if $keeps; then
  anchor=$(sed -n 's/^ *"anchor": *"\([0-9a-f]*\)".*/\1/p' "$perf/history.json" 2>/dev/null || true)
  [ -z "$anchor" ] || fetch "$anchor"
fi
if [ "$COUNT" = true ]; then
  command -v valgrind >/dev/null || { $([ "$(id -u)" = 0 ] || echo sudo) sh -c 'apt-get -qq update && apt-get -qq install -y valgrind' >&2; } || echo "valgrind could not be installed" >&2
  compare count --count
fi
compare times
if ! $keeps; then
  [ ! -e "$perf/history.svg" ] || show_history
elif draw_history; then
  code=0
  contend history --check "$perf" >>"$folder/comment.md" || code=$?
  case $code in 0 | 4) ;; *) failed=$code ;; esac
  keep_history || { echo "the result could not be added to the branch $HISTORY" >&2; failed=1; }
fi
if [ -n "${GITHUB_OUTPUT:-}" ]; then
  {
    echo "verdict=$(verdict times)"
    echo "counted=$(verdict count)"
    echo "exit-code=$failed"
    echo "folder=$folder"
  } >>"$GITHUB_OUTPUT"
fi
# A token that may not, as that of a fork's pull request, is no failure.
case ${GITHUB_REF:-} in refs/pull/*) [ -z "${GH_TOKEN:-}" ] || comment_on_github || echo "the comment could not be written" >&2 ;; esac
[ -z "${CI_MERGE_REQUEST_IID:-}" ] || [ -z "${CONTEND_TOKEN:-}" ] || comment_on_gitlab || echo "the comment could not be written" >&2
exit "$failed"

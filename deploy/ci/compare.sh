#!/usr/bin/env bash
# Is what a CI job checked out slower than what it is to be merged into? action.yml and templates/compare.yml run this,
# with their inputs in variables: BASE, HEAD, BUILD, COMMAND, ADDRESS, COUNT and NAME. Both revisions are built and measured
# in turns in this job, so that the machine is the same for both; first the instructions of a request are counted,
# which a busy runner does not change. It fails where a verdict is MORE or SLOWER (exit code 3) or nothing could be
# measured (1, 2); INCONCLUSIVE and INVALID (4) are no failure on machines that are shared.
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
  contend compare "$@" --revisions "$base,$HEAD" --build "$BUILD" --url "$ADDRESS" --markdown \
    --junit "$folder/$file.xml" --html "$folder/$file.html" -o "$folder/$file.json" -- "$COMMAND" >>"$folder/comment.md" || code=$?
  case $code in 0 | 4) ;; *) failed=$code ;; esac
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
if [ "$COUNT" = true ]; then
  command -v valgrind >/dev/null || { $([ "$(id -u)" = 0 ] || echo sudo) sh -c 'apt-get -qq update && apt-get -qq install -y valgrind' >&2; } || echo "valgrind could not be installed" >&2
  compare count --count
fi
compare times
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

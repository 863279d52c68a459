#!/usr/bin/env bash
# Prints the licences of what is linked into the program: of each crate its terms and where it comes from, then every text that they hold, once. From what
# Cargo has downloaded; the network is not asked. Usage: packaging/third-party.sh > THIRD-PARTY
set -euo pipefail
cd "$(dirname "$0")/.."
export LC_ALL=C
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
sources=${CARGO_HOME:-$HOME/.cargo}/registry/src

# Procedural macros run when it is built and are not in it.
cargo tree --locked --offline --package pubdata --features jemalloc --edges normal,no-proc-macro --prefix none --no-dedupe --format '{p}|{l}|{r}' | sort -u > "$work/tree"

# The texts of a folder, by path; C libraries have theirs in folders of their own.
texts_of() {
    (cd "$1" && find . \( -name target -o -name tests -o -name node_modules \) -prune -o -type f \
        \( -iname 'licen[cs]e*' -o -iname 'copying*' -o -iname 'notice*' -o -iname 'copyright*' -o -iname 'unlicense*' \) ! -name '*.rs' ! -name '*.c' ! -name '*.h' -print) | sort
}

declare -A texts_in of_repository
: > "$work/crates"
while IFS='|' read -r package terms repository; do
    read -r name version rest <<< "$package"
    case $rest in *"$PWD"*) continue ;; esac
    folders=("$sources"/*/"$name-${version#v}")
    [ -d "${folders[0]}" ] || { echo "third-party: the sources of $name ${version#v} are not in $sources; try: cargo fetch --locked" >&2; exit 1; }
    [ -n "$terms" ] || { echo "third-party: $name ${version#v} does not say its terms" >&2; exit 1; }
    printf '%s|%s|%s|%s|%s\n' "$name" "${version#v}" "$terms" "$repository" "${folders[0]}" >> "$work/crates"
    texts_in[${folders[0]}]=$(texts_of "${folders[0]}")
    [ -z "$repository" ] || [ -z "${texts_in[${folders[0]}]}" ] || of_repository[$repository]=${folders[0]}
done < "$work/tree"
[ -s "$work/crates" ] || { echo "third-party: cargo names no crate" >&2; exit 1; }

mkdir "$work/texts"
while IFS='|' read -r name version terms repository folder; do
    # Some crates of a workspace leave the text to their neighbours.
    [ -n "${texts_in[$folder]}" ] || [ -z "$repository" ] || folder=${of_repository[$repository]:-$folder}
    texts=${texts_in[$folder]}
    if [ -z "$texts" ]; then
        case $terms in
            *Apache-2.0*) digest=$(sha256sum < LICENSE | cut -c1-64) && cp LICENSE "$work/texts/$digest" ;;
            *) echo "third-party: $name $version ($terms) comes without a text of its licence" >&2; exit 1 ;;
        esac
        printf '%s %s\n' "$name" "$version" >> "$work/texts/$digest.of"
    fi
    while read -r text; do
        [ -n "$text" ] || continue
        digest=$(sha256sum < "$folder/$text" | cut -c1-64)
        cp --no-preserve=mode "$folder/$text" "$work/texts/$digest"
        printf '%s %s\n' "$name" "$version" >> "$work/texts/$digest.of"
    done <<< "$texts"
done < "$work/crates"

echo "pubdata is linked with the work of others, under these terms. The texts follow."
echo
while IFS='|' read -r name version terms repository _; do echo "$name $version: $terms${repository:+ ($repository)}"; done < "$work/crates"
# In the order of the first crate that has them.
for of in "$work"/texts/*.of; do sort -u -o "$of" "$of"; printf '%s|%s\n' "$(head -1 "$of")" "${of%.of}"; done | sort | while IFS='|' read -r _ text; do
    printf '\n%s\n%s\n%s\n' "$(printf '=%.0s' {1..78})" "$(paste -sd, "$text.of" | sed 's/,/, /g' | fold -s -w 78)" "$(printf -- '-%.0s' {1..78})"
    tr -d '\r' < "$text"
done

#!/usr/bin/env bash
# Makes the package of an installation, unpacks it, and uses it without LibTorch and with one that is named.
#   tests/package/run.sh BUILD TORCH     BUILD: a build folder; TORCH: LibTorch's folder
set -euo pipefail
export LC_ALL=C.UTF-8
unset FLOWTRAIN_TORCH
build=$(cd -- "$1" && pwd) torch=$2
if ! command -v dpkg-shlibdeps >/dev/null; then
  echo 'skipped: [dpkg-shlibdeps] packages are made with dpkg-dev'
  exit 77
fi
work=$(mktemp -d)
trap 'rm -rf -- "$work"' EXIT
cd -- "$work"

fail() {
  echo "package: $1"
  exit 1
}

cpack --config "$build/CPackConfig.cmake" -B "$work/made" >cpack.log 2>&1 || { cat cpack.log; exit 1; }
dpkg-deb -x made/flowtrain_*.deb tree
depends=$(dpkg-deb -f made/flowtrain_*.deb Depends)
[[ $depends == *libtbb* && $depends != *torch* ]] || fail "Depends: $depends"

# Nothing is looked for where this machine built it.
while IFS= read -r -d '' file; do
  path=$(readelf -d "$file" 2>/dev/null | sed -n 's/.*(RUNPATH).*\[\(.*\)\]$/\1/p' || true)
  [[ $path != *"$torch"* && $path != *"$build"* ]] || fail "the run path of $file is $path"
done < <(find tree -type f -print0)
! grep -rn -e "$torch" -e "$build" tree/usr/lib/cmake || fail 'the package names folders of this machine'

flowtrain=$work/tree/usr/bin/flowtrain
version=$("$flowtrain" --version)
[[ $version =~ ^flowtrain\ [0-9]+\.[0-9]+\.[0-9]+\ \([0-9a-z-]+,\  ]] || fail "--version: $version"
for command in train $("$flowtrain" --help | sed -n '/^  flowtrain/!s/^  \([a-z-]*\) .*/\1/p'); do
  grep -qxF ".SS $command" tree/usr/share/man/man1/flowtrain.1 || fail "the man page lacks $command"
done
if command -v man >/dev/null; then
  [[ -z $(man --warnings -l tree/usr/share/man/man1/flowtrain.1 2>&1 >/dev/null) ]] || fail 'the man page has mistakes'
fi

for file in bash-completion/completions/flowtrain zsh/vendor-completions/_flowtrain \
  fish/vendor_completions.d/flowtrain.fish; do
  grep -q 'completion words' "tree/usr/share/$file" || fail "the package lacks $file"
done

# Without LibTorch: all but what computes, which says what to do.
config=configs/quickstart.toml  # not in this folder, but installed
short=(--set run.max_iter=3 --set val.every=0 --device cpu)
"$flowtrain" bench "$config" --seconds 0.05 >bench.txt 2>&1 || { cat bench.txt; exit 1; }
"$flowtrain" config "$config" >config.txt
"$flowtrain" plugins >plugins.txt
status=0
"$flowtrain" "$config" "${short[@]}" >train.txt 2>&1 || status=$?
if [[ $status != 2 ]] || ! grep -q 'FLOWTRAIN_TORCH=/path/to' train.txt; then
  fail "exit code $status: $(cat train.txt)"
fi

# With one: named by the environment, or put where the package looks.
FLOWTRAIN_TORCH=$torch "$flowtrain" "$config" "${short[@]}" >train.txt 2>&1 || { cat train.txt; exit 1; }
ln -s "$torch" tree/usr/lib/flowtrain/torch
"$flowtrain" "$config" "${short[@]}" >train.txt 2>&1 || { cat train.txt; exit 1; }
echo 'package: it needs no LibTorch until it trains, and finds the one that is named'

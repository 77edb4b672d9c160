#!/usr/bin/env bash
# Checks built libraries and programs without running them, so that what a machine with GPUs would find in its first
# second is found on one without.
#   tests/links.sh BUILD TORCH CUDA_LIBRARIES NCCL_HEADER
# BUILD: a build folder; TORCH: LibTorch's folder; CUDA_LIBRARIES: the toolkit's; NCCL_HEADER: nccl.h, or empty.
set -euo pipefail
export LC_ALL=C

build=$1 torch=$2 cuda=${3:-} nccl_header=${4:-}
status=0

wrong() {
  echo "$1"
  status=1
}

# The symbols that files define, one a line, without their versions.
defined() {
  nm -D --defined-only --format=posix -- "$@" 2>/dev/null | awk '/ / {sub(/@.*/, "", $1); print $1}' | sort -u
}
# Those that a file needs; not the weak ones, which may be missing.
needed() { nm -D --undefined-only --format=posix -- "$1" | awk '$2 == "U" {sub(/@.*/, "", $1); print $1}' | sort -u; }

# Each symbol of the parts that are opened at run time is in one of the libraries that these bring.
check_symbols() {
  local libraries=("$torch"/lib/lib{torch_cuda,torch_cpu,c10,c10_cuda}.so "$cuda"/libcudart.so) name missing part
  for name in libc.so.6 libm.so.6 libstdc++.so.6 libgcc_s.so.1 ld-linux-x86-64.so.2; do
    libraries+=("$(c++ -print-file-name="$name")")
  done
  for part in cuda nccl; do
    part=$build/lib/libflowtrain_$part.so
    [[ -e $part ]] || continue
    missing=$(comm -23 <(needed "$part") <(defined "${libraries[@]}") | c++filt)
    [[ -z $missing ]] || wrong "${part##*/} needs what no library has:"$'\n'"$missing"
  done
}

# To the loader an empty entry is the folder in which somebody happens to be.
check_run_paths() {
  local file path
  while IFS= read -r -d '' file; do
    path=$(readelf -d -- "$file" 2>/dev/null | sed -n 's/.*(\(RUNPATH\|RPATH\)).*\[\(.*\)\]$/\2/p')
    [[ -z $path || ":$path:" != *::* ]] || wrong "${file#"$build"/}: its run path has an empty entry: $path"
  done < <(find "$build/bin" "$build/lib" -type f \( -executable -o -name '*.so' \) -print0)
}

# What two of our libraries define would exist twice in a process: registries, locks and settings among it.
check_owners() {
  local twice
  twice=$(for library in loader train torch; do
    nm -D --defined-only --format=posix -- "$build/lib/libflowtrain_$library.so" | awk '$2 ~ /^[TBDR]$/ {print $1}'
  done | sort | uniq -d | c++filt)
  [[ -z $twice ]] || wrong "in several of libflowtrain_{loader,train,torch}.so:"$'\n'"$twice"
}

# The loader's library and the program do without LibTorch.
check_torch() {
  local file
  for file in bin/flowtrain lib/libflowtrain_loader.so lib/libflowtrain_train.so; do
    ! readelf -d -- "$build/$file" | grep -E 'NEEDED.*lib(torch|c10|cuda)' || wrong "$file links these"
  done
}

# nccl.h lays out what LibTorch's library fills in: its version is that of the library that the wheel asks for.
check_nccl() {
  local wheel header
  [[ -n $nccl_header && -e $build/lib/libflowtrain_nccl.so ]] || return 0
  wheel=$(sed -n 's/^Requires-Dist: nvidia-nccl-cu[0-9]*==\([0-9.]*\).*/\1/p' "$torch"/../torch-*.dist-info/METADATA)
  [[ -n $wheel ]] || return 0  # not a wheel: the program compares when it starts
  header=$(awk '$2 ~ /^NCCL_(MAJOR|MINOR|PATCH)$/ {printf "%s%s", dot, $3; dot = "."}' "$nccl_header")
  [[ $header == "$wheel" ]] || wrong "$nccl_header is of NCCL $header, LibTorch's wheel has $wheel"
}

check_symbols
check_run_paths
check_owners
check_torch
check_nccl
if ((status == 0)); then echo 'links: no symbol is missing or twice there, no run path is open to others'; fi
exit "$status"

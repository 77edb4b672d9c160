#pragma once
// Helpers of the snapshot tests: a temporary folder, tensors with bytes of their own, files as strings.

#include <stdlib.h>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <vector>

#include "pipeline/base/snapshot/snapshot_files.h"
#include "tests/support/temp_folder.h"

namespace flowtrain::test {

namespace fs = std::filesystem;

/// A tensor that owns its bytes; `seed` makes them differ.
struct Tensor {
  std::vector<std::byte> bytes;
  TensorView view;

  Tensor(const std::string& name, const std::string& dtype, std::vector<std::int64_t> shape, unsigned seed = 1) {
    auto size = element_bytes(dtype);
    for (auto each : shape) size *= static_cast<std::uint64_t>(each);
    for (std::uint64_t i = 0; i < size; ++i) {
      seed = seed * 1664525u + 1013904223u;
      bytes.push_back(static_cast<std::byte>(seed >> 24));
    }
    view = {name, dtype, std::move(shape), bytes.data(), size};
  }
  Tensor(Tensor&&) = default;
};

/// A small snapshot's content, and what it views.
struct SmallContent {
  std::vector<Tensor> tensors;
  SnapshotContent content;

  explicit SmallContent(std::uint64_t iteration, std::int64_t width = 5) {
    const auto seed = static_cast<unsigned>(iteration);
    tensors.emplace_back("conv.weight", "F32", std::vector<std::int64_t>{3, width}, seed);
    tensors.emplace_back("conv.bias", "F32", std::vector<std::int64_t>{3}, seed + 1);
    tensors.emplace_back("conv.weight.momentum", "F32", std::vector<std::int64_t>{3, width}, seed + 2);
    tensors.emplace_back("step", "I64", std::vector<std::int64_t>{}, seed + 3);
    content = {iteration,
               {tensors[0].view, tensors[1].view},
               {tensors[2].view, tensors[3].view},
               "{\"epoch\":" + std::to_string(iteration) + "}",
               "name = \"small\"\n"};
  }
};

/// Saves a small snapshot and returns its path.
inline fs::path save(const fs::path& snapshots_dir, std::uint64_t iteration, std::int64_t width = 5) {
  return write_snapshot(snapshots_dir, SmallContent(iteration, width).content);
}

inline std::string get(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

inline void put(const fs::path& file, const std::string& text) { std::ofstream(file, std::ios::binary) << text; }

inline bool same_bytes(const TensorView& left, const TensorView& right) {
  return left.name == right.name && left.dtype == right.dtype && left.shape == right.shape &&
         left.bytes == right.bytes && std::equal(left.data, left.data + left.bytes, right.data);
}

/// Changes one byte in its place: rewriting the file would make some file systems flush it each time.
inline void flip(const fs::path& file, std::size_t at, int mask) {
  std::fstream stream(file, std::ios::binary | std::ios::in | std::ios::out);
  stream.seekg(static_cast<std::streamoff>(at));
  const auto changed = static_cast<char>(stream.get() ^ mask);
  stream.seekp(static_cast<std::streamoff>(at));
  stream.put(changed);
}

/// The names in a folder, sorted, with blanks between.
inline std::string names(const fs::path& folder) {
  std::vector<std::string> all;
  for (const auto& entry : fs::directory_iterator(folder)) all.push_back(entry.path().filename().string());
  std::ranges::sort(all);
  std::string text;
  for (const auto& name : all) text += (text.empty() ? "" : " ") + name;
  return text;
}

/// Runs `work`, which must throw UserError(snapshot), and returns the message.
template <class Work>
std::string message_of(Work work) {
  try {
    work();
  } catch (const UserError& error) {
    CHECK(error.code() == ExitCode::snapshot);
    return error.what();
  }
  FAIL("no error");
  return {};
}

inline bool contains(const std::string& text, const std::string& part) {
  const bool found = text.find(part) != std::string::npos;
  if (!found) MESSAGE("'", part, "' is not in: ", text);
  return found;
}

}  // namespace flowtrain::test

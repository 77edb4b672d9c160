// Writes, verifies and opens one snapshot; snapshot_folder.cpp handles the folder of snapshots.
#include "pipeline/base/snapshot/snapshot_files.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <map>

#include "pipeline/base/snapshot/atomic_folder.h"
#include "pipeline/base/snapshot/hash.h"
#include "pipeline/base/snapshot/manifest.h"
#include "pipeline/base/snapshot/safetensors.h"
#include "sampling/core/error.h"
#include "sampling/core/text.h"
#include "stages/flight/flight.h"

namespace flowtrain {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t read_bytes = 1 << 18;
constexpr std::uint64_t max_text_bytes = 1 << 30;  // limit of state.json and config.toml

struct Read {
  std::uint64_t bytes = 0;
  std::string xxh64;
};

/// Hashes a file through read(), which reports a bad disk as an error; with a mapping the process would be killed.
Read hash_file(const fs::path& path) {
  File file = File::open(path);
  std::vector<std::byte> buffer(std::min(read_bytes, file.size_bytes() + 1));  // + 1 keeps the buffer from being empty
  Xxh64 hash;
  Read read;
  while (const auto got = file.read(buffer)) {
    hash.update(std::span(buffer).first(got));
    read.bytes += got;
  }
  read.xxh64 = hash.hex();
  return read;
}

/// Adds the tensors of a damaged file that differ, or its header if that does.
void name_damaged_tensors(const fs::path& path, const ManifestFile& expected, std::vector<std::string>& problems) {
  const SafetensorsFile file(path);
  std::map<std::string, std::string> left(expected.tensor_xxh64.begin(), expected.tensor_xxh64.end());
  const auto before = problems.size();
  for (const auto& tensor : file.tensors()) {
    const auto found = left.find(tensor.name);
    if (found == left.end()) {
      problems.push_back(expected.name + ": tensor " + shown(tensor.name) + " is not in the manifest");
      continue;
    }
    if (found->second != xxh64_hex(std::span(tensor.data, tensor.bytes)))
      problems.push_back(expected.name + ": tensor " + shown(tensor.name) + " is damaged");
    left.erase(found);
  }
  for (const auto& [name, hash] : left) problems.push_back(expected.name + ": tensor " + shown(name) + " is missing");
  if (problems.size() == before) problems.push_back(expected.name + ": its header is damaged");
}

void verify_file(const fs::path& path, const ManifestFile& expected, std::vector<std::string>& problems) {
  const auto read = hash_file(path);
  if (read.bytes != expected.bytes) {
    problems.push_back(expected.name + ": " + std::to_string(read.bytes) + " bytes, the manifest says " +
                       std::to_string(expected.bytes));
  } else if (read.xxh64 != expected.xxh64) {
    problems.push_back(expected.name + ": damaged (its xxh64 is " + read.xxh64 + ", the manifest says " +
                       expected.xxh64 + ")");
    if (path.extension() == ".safetensors") name_damaged_tensors(path, expected, problems);
  }
}

}  // namespace

std::string snapshot_name(std::uint64_t iteration) {
  char name[32];
  std::snprintf(name, sizeof name, "iter-%08llu", static_cast<unsigned long long>(iteration));
  return name;
}

std::optional<std::uint64_t> snapshot_iteration(std::string_view name) {
  constexpr std::string_view start = "iter-";
  std::uint64_t iteration = 0;
  if (name.starts_with(start)) std::from_chars(name.data() + start.size(), name.data() + name.size(), iteration);
  return name == snapshot_name(iteration) ? std::optional(iteration) : std::nullopt;
}

fs::path write_snapshot(const fs::path& snapshots_dir, const SnapshotContent& content) {
  make_folders(snapshots_dir);
  clean_leftovers(snapshots_dir);
  const auto name = snapshot_name(content.iteration);
  AtomicFolder folder(snapshots_dir / name);
  Manifest manifest{content.iteration, {}};
  const auto write_tensors = [&](const char* file_name, std::span<const TensorView> tensors) {
    const FlightSpan flight({.name = file_name});
    folder.write_file(file_name, [&](File& file) {
      // other readers require "pt" before they load weights
      auto written = write_safetensors(file, tensors, {{"format", "pt"}});
      manifest.files.push_back({file_name, written.bytes, written.xxh64, std::move(written.tensor_xxh64)});
    });
  };
  const auto write_text = [&](const char* file_name, const std::string& text, unsigned mode = 0666) {
    const FlightSpan flight({.name = file_name});
    folder.write_file(file_name, text, mode);
    manifest.files.push_back({file_name, text.size(), xxh64_hex(text), {}});
  };
  write_tensors("model.safetensors", content.model);
  write_tensors("optim.safetensors", content.optim);
  write_text("state.json", content.state_json);
  write_text("config.toml", content.config_toml, config_mode(content.config_toml));
  folder.write_file(manifest_name, manifest_text(manifest));
  folder.commit();
  swap_link(snapshots_dir, "latest", name);
  return snapshots_dir / name;
}

std::vector<std::string> verify_snapshot(const fs::path& snapshot) {
  std::vector<std::string> problems;
  Manifest manifest;
  try {
    manifest = read_manifest(snapshot);
  } catch (const UserError& error) {
    return {error.what()};
  }
  // A copy may have any other name; one of our names must be the right one.
  if (const auto name = snapshot.filename().string();
      name.starts_with("iter-") && name != snapshot_name(manifest.iteration))
    problems.push_back("manifest.json: it belongs to iteration " + std::to_string(manifest.iteration));
  for (const auto& file : manifest.files) {
    try {
      verify_file(snapshot / file.name, file, problems);
    } catch (const UserError& error) {
      problems.emplace_back(error.what());
    }
  }
  return problems;
}

OpenSnapshot open_snapshot(const fs::path& snapshot) {
  if (const auto problems = verify_snapshot(snapshot); !problems.empty())
    throw UserError(ExitCode::snapshot, snapshot.string() + ": " + problems.front(), "use another snapshot: --iter N");
  return open_verified(snapshot);
}

OpenSnapshot open_verified(const fs::path& snapshot) {
  return {read_manifest(snapshot).iteration, SafetensorsFile(snapshot / "model.safetensors"),
          SafetensorsFile(snapshot / "optim.safetensors"), read_text(snapshot / "state.json", max_text_bytes),
          read_text(snapshot / "config.toml", max_text_bytes)};
}

bool has_average(const OpenSnapshot& snapshot) {
  return std::ranges::any_of(snapshot.optim.tensors(), [](auto& tensor) { return is_average(tensor.name); });
}

void require_average(const OpenSnapshot& snapshot) {
  if (!has_average(snapshot))
    throw UserError(ExitCode::snapshot,
                    concat("the snapshot of iteration ", snapshot.iteration, " holds no average of the weights"),
                    "leave --average out; a run with ema.decay > 0 keeps one");
}

std::vector<TensorView> averaged_model(const OpenSnapshot& snapshot) {
  std::map<std::string_view, const TensorView*> averages;
  for (auto& tensor : snapshot.optim.tensors())
    if (is_average(tensor.name)) averages.emplace(std::string_view(tensor.name).substr(average_prefix.size()), &tensor);
  const auto model = snapshot.model.tensors();
  std::vector<TensorView> tensors(model.begin(), model.end());
  for (auto& tensor : tensors)
    if (const auto found = averages.find(tensor.name); found != averages.end()) {
      tensor.dtype = found->second->dtype;
      tensor.data = found->second->data;
      tensor.bytes = found->second->bytes;
    }
  return tensors;
}

}  // namespace flowtrain

#pragma once
// manifest.json lists the files of a snapshot. It is written last; a snapshot without a valid one is not complete.

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace flowtrain {

inline constexpr const char* manifest_name = "manifest.json";

/// One file of the snapshot.
struct ManifestFile {
  std::string name;
  std::uint64_t bytes = 0;
  std::string xxh64;                                              ///< hash of the whole file
  std::vector<std::pair<std::string, std::string>> tensor_xxh64;  ///< hash of each tensor, by name; {} for other files
};

struct Manifest {
  std::uint64_t iteration = 0;
  std::vector<ManifestFile> files;

  /// Returns the entry called `name`, which every parsed manifest has if it is one of the names below.
  const ManifestFile& file(std::string_view name) const;
};

/// The files of every snapshot beside the manifest, in the order they are written.
inline constexpr const char* snapshot_file_names[] = {"model.safetensors", "optim.safetensors", "state.json",
                                                      "config.toml"};

/// Formats the manifest as JSON. Its last member is the hash of all the text before it, so no byte can change unseen.
std::string manifest_text(const Manifest& manifest);
/// Reads manifest_text(); `path` is for messages. Throws UserError(snapshot) for damage, another format version, or a
/// list of files other than snapshot_file_names.
Manifest parse_manifest(std::string_view text, const std::string& path);
/// Reads and parses `snapshot/manifest.json`.
Manifest read_manifest(const std::filesystem::path& snapshot);

}  // namespace flowtrain

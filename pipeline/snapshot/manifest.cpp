#include "pipeline/snapshot/manifest.h"

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>

#include "pipeline/snapshot/file.h"
#include "pipeline/snapshot/hash.h"

namespace flowtrain {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;  // for writing; it looks names up one by one

constexpr std::uint64_t format_version = 1;
constexpr std::uint64_t max_manifest_bytes = 8 << 20;  // room for 65,536 tensors with long names
constexpr int max_depth = 4;                            // files > one file > its tensors
constexpr const char* json_end = "\n}";

/// The end of the text: the hash of everything before it.
std::string seal(std::string_view before) { return ",\n \"xxh64\": \"" + xxh64_hex(before) + "\"" + json_end + "\n"; }

[[noreturn]] void fail(const std::string& path, const std::string& what, const std::string& hint = {}) {
  throw UserError(Exit::snapshot, path + ": " + what, hint);
}

/// A number that is a whole one and not negative; get<>() alone would convert what is not.
std::uint64_t count(const json& value) {
  if (!value.is_number_unsigned()) throw json::type_error::create(302, "not a count", &value);
  return value.get<std::uint64_t>();
}

json parse_json(std::string_view text, const std::string& path) {
  const auto shallow = [&](int depth, json::parse_event_t, json&) {
    if (depth > max_depth) fail(path, "damaged: nested too deep");
    return true;
  };
  return json::parse(text.begin(), text.end(), shallow);
}

ManifestFile parse_file(const std::string& name, const json& entry) {
  ManifestFile file{name, count(entry.at("bytes")), entry.at("xxh64").get<std::string>(), {}};
  if (entry.contains("tensors"))
    for (const auto& [tensor, hash] : entry.at("tensors").items())
      file.tensor_xxh64.emplace_back(tensor, hash.get<std::string>());
  return file;
}

}  // namespace

const ManifestFile& Manifest::file(std::string_view name) const {
  const auto found = std::ranges::find(files, name, &ManifestFile::name);
  if (found == files.end()) throw InternalError("no manifest has a file called '" + std::string(name) + "'");
  return *found;
}

std::string manifest_text(const Manifest& manifest) {
  ordered_json files = ordered_json::object();
  for (const auto& file : manifest.files) {
    ordered_json entry = {{"bytes", file.bytes}, {"xxh64", file.xxh64}};
    if (!file.tensor_xxh64.empty()) {
      ordered_json::object_t tensors;
      for (const auto& [name, hash] : file.tensor_xxh64) tensors.push_back({name, hash});
      entry["tensors"] = std::move(tensors);
    }
    files[file.name] = std::move(entry);
  }
  const ordered_json json = {{"format", "flowtrain snapshot"},
                             {"version", format_version},
                             {"iteration", manifest.iteration},
                             {"files", std::move(files)}};
  std::string text = json.dump(1);
  text.resize(text.size() - std::string_view(json_end).size());
  return text + seal(text);
}

Manifest parse_manifest(std::string_view text, const std::string& path) {
  const auto seal_bytes = seal({}).size();
  if (text.size() < seal_bytes) fail(path, "damaged: cut short");
  const auto sealed = text.substr(0, text.size() - seal_bytes);
  if (text.substr(sealed.size()) != seal(sealed)) fail(path, "damaged: it does not hash to the xxh64 at its end");
  try {
    const auto root = parse_json(text, path);
    if (const auto version = count(root.at("version")); version != format_version)
      fail(path,
           "version " + std::to_string(version) + " of the format; this build reads version " +
               std::to_string(format_version),
           "use the build that wrote it");
    Manifest manifest{count(root.at("iteration")), {}};
    // The names are fixed, so none of them can lead out of the folder.
    for (const char* name : snapshot_file_names) manifest.files.push_back(parse_file(name, root.at("files").at(name)));
    if (root.at("files").size() != manifest.files.size()) fail(path, "damaged: it lists other files than a snapshot's");
    return manifest;
  } catch (const json::exception&) {
    fail(path, "damaged: a member is missing or of the wrong type");
  }
}

Manifest read_manifest(const std::filesystem::path& snapshot) {
  const auto path = snapshot / manifest_name;
  return parse_manifest(read_text(path, max_manifest_bytes), path.string());
}

}  // namespace flowtrain

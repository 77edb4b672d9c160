#include "pipeline/base/snapshot/manifest.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <utility>

#include "pipeline/base/snapshot/file.h"
#include "pipeline/base/snapshot/hash.h"
#include "sampling/core/error.h"

namespace flowtrain {
namespace {

// The reader keeps no tree of nlohmann's: its destructor allocates, and ends the program when memory runs out.
using nlohmann::json;

constexpr std::uint64_t format_version = 1;
constexpr std::uint64_t max_manifest_bytes = 8 << 20;  // room for 65,536 tensors with long names
constexpr std::size_t max_depth = 4;                   // files > one file > its tensors
constexpr const char* wrong_member = "damaged: a member is missing or of the wrong type";
constexpr const char* json_end = "\n}";

/// Returns the end of the text: the hash of everything before it.
std::string seal(std::string_view before) { return ",\n \"xxh64\": \"" + xxh64_hex(before) + "\"" + json_end + "\n"; }

[[noreturn]] void refuse_manifest(const std::string& path, const std::string& what, const std::string& hint = {}) {
  throw UserError(ExitCode::snapshot, path + ": " + what, hint);
}

std::string quoted(const std::string& text) { return json(text).dump(); }

/// Takes the parser's events; the names that lead to a member determine its meaning.
class ManifestReader : public nlohmann::json_sax<json> {
 public:
  std::optional<std::uint64_t> version, iteration;
  std::map<std::string, ManifestFile, std::less<>> files;
  std::set<std::string, std::less<>> sized;  ///< files whose "bytes" was read

  bool start_object(std::size_t) override {
    if (names_.size() == max_depth) return false;
    names_.emplace_back();
    return true;
  }
  bool end_object() override {
    names_.pop_back();
    return true;
  }
  bool key(std::string& name) override {
    names_.back() = name;
    if (names_.size() == 2 && names_[0] == "files") files[name].name = name;
    return true;
  }
  bool number_unsigned(json::number_unsigned_t value) override {
    if (names_.size() == 1 && names_[0] == "version") version = value;
    if (names_.size() == 1 && names_[0] == "iteration") iteration = value;
    if (!of_file("bytes", 3)) return true;
    files[names_[1]].bytes = value;
    sized.insert(names_[1]);
    return true;
  }
  bool string(std::string& value) override {
    if (of_file("xxh64", 3)) files[names_[1]].xxh64 = value;
    if (of_file("tensors", 4)) files[names_[1]].tensor_xxh64.emplace_back(names_[3], value);
    return true;
  }

  bool start_array(std::size_t) override { return false; }
  bool end_array() override { return false; }
  bool null() override { return false; }
  bool boolean(bool) override { return false; }
  bool number_integer(json::number_integer_t) override { return false; }
  bool number_float(json::number_float_t, const std::string&) override { return false; }
  bool binary(json::binary_t&) override { return false; }
  bool parse_error(std::size_t, const std::string&, const json::exception&) override { return false; }

 private:
  bool of_file(std::string_view member, std::size_t depth) const {
    return names_.size() == depth && names_[0] == "files" && names_[2] == member;
  }

  std::vector<std::string> names_;  // names of the current member and of the objects around it
};

}  // namespace

const ManifestFile& Manifest::file(std::string_view name) const {
  const auto found = std::ranges::find(files, name, &ManifestFile::name);
  if (found == files.end()) throw InternalError("no manifest has a file called '" + std::string(name) + "'");
  return *found;
}

std::string manifest_text(const Manifest& manifest) {
  std::string text;
  const auto put = [&](const auto&... pieces) { ((text += pieces), ...); };
  put("{\n \"format\": \"flowtrain snapshot\",\n \"version\": ", std::to_string(format_version));
  put(",\n \"iteration\": ", std::to_string(manifest.iteration), ",\n \"files\": {");
  const char* before_file = "\n  ";
  for (const auto& file : manifest.files) {
    put(std::exchange(before_file, ",\n  "), quoted(file.name), ": {\n   \"bytes\": ", std::to_string(file.bytes));
    put(",\n   \"xxh64\": ", quoted(file.xxh64));
    const char* before_tensor = ",\n   \"tensors\": {\n    ";
    for (const auto& [name, hash] : file.tensor_xxh64)
      put(std::exchange(before_tensor, ",\n    "), quoted(name), ": ", quoted(hash));
    put(file.tensor_xxh64.empty() ? "\n  }" : "\n   }\n  }");
  }
  put("\n }");
  return text + seal(text);
}

Manifest parse_manifest(std::string_view text, const std::string& path) {
  const auto seal_bytes = seal({}).size();
  if (text.size() < seal_bytes) refuse_manifest(path, "damaged: cut short");
  const auto sealed = text.substr(0, text.size() - seal_bytes);
  if (text.substr(sealed.size()) != seal(sealed))
    refuse_manifest(path, "damaged: it does not hash to the xxh64 at its end");
  ManifestReader reader;
  const bool complete = json::sax_parse(text.begin(), text.end(), &reader) && reader.version;
  if (reader.version.value_or(format_version) != format_version)
    refuse_manifest(path,
                    "version " + std::to_string(*reader.version) + " of the format; this build reads version " +
                        std::to_string(format_version),
                    "use the build that wrote it");
  if (!complete || !reader.iteration) refuse_manifest(path, wrong_member);
  Manifest manifest{*reader.iteration, {}};
  // The names are fixed, so none of them can lead out of the folder.
  for (const char* name : snapshot_file_names) {
    const auto found = reader.files.find(name);
    if (found == reader.files.end() || found->second.xxh64.empty() || !reader.sized.contains(name))
      refuse_manifest(path, wrong_member);
    manifest.files.push_back(std::move(found->second));
  }
  if (reader.files.size() != manifest.files.size())
    refuse_manifest(path, "damaged: it lists other files than a snapshot's");
  return manifest;
}

Manifest read_manifest(const std::filesystem::path& snapshot) {
  const auto path = snapshot / manifest_name;
  return parse_manifest(read_text(path, max_manifest_bytes), path.string());
}

}  // namespace flowtrain

#include "pipeline/engine/text/kept_tokenizer.h"

#include <filesystem>
#include <set>
#include <system_error>
#include <vector>

#include "pipeline/base/config/source_groups.h"
#include "pipeline/base/telemetry/json_file.h"
#include "sampling/core/error.h"
#include "sampling/core/text.h"
#include "sampling/tokens/tokenizer.h"

namespace flowtrain {
namespace {

namespace fs = std::filesystem;

// Returns the file `tokenizer` of any ending in a folder; "bytes" if the totals of a packing say so; else nothing.
std::string tokenizer_in(const fs::path& folder) {
  std::error_code error;
  std::set<std::string> found;
  for (fs::directory_iterator each(folder, error), end; !error && each != end; each.increment(error))
    if (each->path().stem() == "tokenizer") found.insert(each->path().string());
  if (!found.empty()) return *found.begin();
  return text_in(json_of_file(folder / "tokens.json"), "tokenizer") == "bytes" ? "bytes" : "";
}

// Returns the folders in which shards of tokens may lie; none for other data sets.
std::vector<fs::path> folders_of(const Settings& data) {
  if (data.text("dataset") != "tokens") return {};
  std::error_code error;
  const fs::path place = data.text("path");
  if (!fs::is_directory(place, error)) return {place.has_parent_path() ? place.parent_path() : "."};
  return {place / data.text("split"), place / "train", place};
}

// Throws if an id of the kept tokenizer is another token for the one that a field names.
void compare(const Settings& field, const std::string& kept) {
  const std::string& named = field.text("tokenizer");
  if (named.empty() || named == kept) return;
  const bool of_bytes = named == "bytes" || kept == "bytes";
  if (!of_bytes && text_of_file(named, std::string::npos) == text_of_file(kept, std::string::npos)) return;
  // Files of other kinds may write the same token in another way.
  const bool same_kind = !of_bytes && fs::path(named).extension() == fs::path(kept).extension();
  const auto own = open_tokenizer(named, field.text("pattern"));
  const auto theirs = open_tokenizer(kept, same_kind ? field.text("pattern") : "");
  const auto refuse = [&](const std::string& why) {
    return field.error("tokenizer", concat("the ids were made by another tokenizer, ", kept, ": ", why),
                       ExitCode::usage, "name that one, or pack the texts again");
  };
  const auto ids = theirs->vocabulary_size();
  if (own->vocabulary_size() < ids)
    throw refuse(concat("it has ", ids, " ids, and this one has ", own->vocabulary_size()));
  if (kept == "bytes") throw refuse("each id is a byte");
  if (!same_kind) return;
  for (std::uint32_t id = 0; id < ids; ++id)
    if (own->token(id) != theirs->token(id))
      throw refuse(concat("the id ", id, " is '", theirs->token(id), "', and here it is '", own->token(id), "'"));
}

}  // namespace

std::string kept_tokenizer(const Settings& data) {
  for (const auto& folder : folders_of(data))
    if (auto file = tokenizer_in(folder); !file.empty()) return file;
  return {};
}

std::optional<std::uint32_t> kept_end(const Settings& data) {
  for (const auto& folder : folders_of(data))
    if (const auto end = number_in<std::uint32_t>(json_of_file(folder / "tokens.json"), "end")) return end;
  return {};
}

void check_stored_ids(const Config& config, bool training) {
  const auto check = [](const Settings& data, const std::vector<Settings>& fields) {
    if (data.text("dataset") != "tokens") return;
    const auto kept = kept_tokenizer(data);
    for (const auto& field : fields) {
      if (!field.has("tokenizer") || field.text("from") != "tokens") continue;
      if (!kept.empty()) compare(field, kept);
      if (data.integer("window") > 0 && !field.text("end").empty())
        throw field.error("end", "windows of stored ids have the ids that end documents, and end anywhere",
                          ExitCode::usage, "leave out end, or data.window");
    }
  };
  const auto& sources = config.list("data.source");
  const bool grouped = has_groups(config);
  if (!training || sources.empty()) {
    if (!grouped) check(config.data(training), config.list("field"));
    return;
  }
  for (std::size_t i = 0; i < sources.size(); ++i)
    check(sources[i], grouped ? fields_of_group(config, i) : config.list("field"));
}

}  // namespace flowtrain

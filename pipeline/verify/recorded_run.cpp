#include "pipeline/verify/recorded_run.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "pipeline/snapshot/manifest.h"
#include "pipeline/snapshot/safetensors.h"
#include "pipeline/snapshot/snapshot_files.h"
#include "sampling/core/error.h"
#include "sampling/core/text.h"

namespace flowtrain {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

namespace {

ordered_json read_object(const fs::path& path) {
  std::ifstream file(path);
  return ordered_json::parse(file, nullptr, /*allow_exceptions=*/false);
}

// What readers of a line rely on; loss and gradient norm may be anything.
bool is_journal_line(const ordered_json& line) {
  const auto has = [&line](const char* key, auto&& fits) { return line.contains(key) && fits(line.at(key)); };
  const auto holds_texts = [](const ordered_json& object) {
    return object.is_object() && std::ranges::all_of(object, [](auto& value) { return value.is_string(); });
  };
  const auto holds_ids = [](const ordered_json& ids) {
    return ids.is_array() && std::ranges::all_of(ids, [](auto& id) { return id.is_number_unsigned(); });
  };
  return line.is_object() && has("ranks", [](auto& ranks) { return ranks.is_number_integer(); }) &&
         has("ids", holds_ids) && has("rows", holds_texts) && has("model", holds_texts) &&
         has("optimizer", holds_texts);
}

// Hashes as the manifest has them; types and shapes as the file has them.
ordered_json tensors_of(const fs::path& snapshot, const ManifestFile& listed) {
  const SafetensorsFile file(snapshot / listed.name);
  std::map<std::string_view, const TensorView*> tensors;
  for (auto& tensor : file.tensors()) tensors.emplace(tensor.name, &tensor);
  ordered_json all = ordered_json::object();
  for (auto& [name, hash] : listed.tensor_xxh64)
    if (const auto found = tensors.find(name); found != tensors.end())
      all[name] = concat(found->second->dtype, " ", shape_text(found->second->shape), " ", hash);
  return all;
}

}  // namespace

HashJournalReader::HashJournalReader(const fs::path& path) : path_(path), file_(path) { next(); }

void HashJournalReader::next() {
  has_line_ = false;
  if (!std::getline(file_, text_) || file_.eof()) return;
  ++number_;
  constexpr std::string_view begin = R"({"iter":)";
  const char* digits = text_.data() + std::min(begin.size(), text_.size());
  if (!text_.starts_with(begin) || std::from_chars(digits, text_.data() + text_.size(), iteration_).ec != std::errc())
    throw damaged();
  has_line_ = true;
}

ordered_json HashJournalReader::line() const {
  auto object = ordered_json::parse(text_, nullptr, /*allow_exceptions=*/false);
  if (!is_journal_line(object)) throw damaged();
  return object;
}

UserError HashJournalReader::damaged() const {
  return UserError(ExitCode::data, concat(path_.string(), ":", number_, ": not a line of a journal of hashes"),
                   "flowtrain writes this file (verify.every); get a copy that nothing else has changed");
}

RecordedMetrics read_metrics(const fs::path& run) {
  RecordedMetrics metrics;
  std::ifstream file(run / "metrics.jsonl");
  for (std::string text; std::getline(file, text);) {
    auto line = ordered_json::parse(text, nullptr, /*allow_exceptions=*/false);
    if (!line.is_object() || !line.contains("iter") || !line["iter"].is_number_unsigned()) continue;
    const auto iteration = line["iter"].get<std::uint64_t>();
    const auto kind = line.value("kind", ordered_json());
    metrics.last = std::max(metrics.last, iteration);
    if (kind == "train")
      metrics.train[iteration] = std::move(line);
    else if (kind == "val")
      metrics.val[iteration] = std::move(line);
    else if (kind == "end")
      metrics.end = std::move(line);
  }
  return metrics;
}

RecordedSnapshots read_snapshots(const fs::path& run) {
  RecordedSnapshots found;
  for (auto& info : list_snapshots(run / "snapshots")) {
    if (!info.complete) continue;
    try {
      const Manifest manifest = read_manifest(info.path);
      found.all[info.iteration] = {info.path, tensors_of(info.path, manifest.file("model.safetensors")),
                                   tensors_of(info.path, manifest.file("optim.safetensors"))};
    } catch (const UserError&) {  // damaged, or pruned meanwhile, as the run goes on
      continue;
    }
    if (found.ranks > 0) continue;  // the newest one comes first
    const auto state = read_object(info.path / "state.json");
    if (state.is_object() && state.contains("world") && state["world"].is_number_integer())
      found.ranks = state["world"];
  }
  return found;
}

}  // namespace flowtrain

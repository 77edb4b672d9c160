#include "pipeline/runs/verify/recorded_run.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "pipeline/base/snapshot/manifest.h"
#include "pipeline/base/snapshot/safetensors.h"
#include "pipeline/base/snapshot/snapshot_files.h"
#include "pipeline/base/telemetry/json_file.h"
#include "pipeline/base/telemetry/json_text.h"
#include "sampling/core/error.h"
#include "sampling/core/text.h"

namespace flowtrain {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

namespace {

// Checks the fields that readers of a line rely on; loss and gradient norm may be anything.
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

// Returns the hashes of the manifest with the types and shapes of the file.
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

HashJournalReader::HashJournalReader(const fs::path& path) : path_(path) { next(); }

void HashJournalReader::next() {
  has_line_ = false;
  if (place_ == lines_.text.size()) {
    lines_ = read_appended(path_, lines_.next);
    place_ = 0;
    if (lines_.text.empty()) return;
    if (lines_.restarted)
      throw UserError(ExitCode::data, path_.string() + ": a resume has shortened the file meanwhile", "try again");
  }
  const auto end = lines_.text.find('\n', place_);
  text_ = lines_.text.substr(place_, end - place_);
  place_ = end + 1;
  ++number_;
  constexpr std::string_view begin = R"({"iter":)";
  const char* digits = text_.data() + std::min(begin.size(), text_.size());
  if (!text_.starts_with(begin) || std::from_chars(digits, text_.data() + text_.size(), iteration_).ec != std::errc())
    throw damaged();
  has_line_ = true;
}

ordered_json HashJournalReader::line() const {
  auto object = parse_json(text_);
  if (!is_journal_line(object)) throw damaged();
  return object;
}

UserError HashJournalReader::damaged() const {
  return UserError(ExitCode::data, concat(path_.string(), ":", number_, ": this is not a line of a journal of hashes"),
                   "flowtrain writes this file (verify.every); get an unchanged copy");
}

RecordedMetrics read_metrics(const fs::path& run) {
  RecordedMetrics metrics;
  const auto take = [&](std::string_view text) {
    auto line = parse_json(text);
    const auto iteration = number_in<std::uint64_t>(line, "iter");
    if (!iteration) return;
    const auto kind = text_in(line, "kind");
    metrics.last = std::max(metrics.last, *iteration);
    if (kind == "train")
      metrics.train[*iteration] = {member_of(line, "loss"), member_of(line, "grad_norm")};
    else if (kind == "val")
      metrics.val[*iteration] = std::move(line);
    else if (kind == "end")
      metrics.end = std::move(line);
  };
  for_each_line_of(run / "metrics.jsonl", take, [&] { metrics = {}; });
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
    } catch (const UserError&) {  // it is damaged, or was pruned meanwhile by the run
      continue;
    }
    if (found.ranks > 0) continue;  // the newest one comes first
    found.ranks = number_in<int>(json_of_file(info.path / "state.json"), "world").value_or(0);
  }
  return found;
}

}  // namespace flowtrain

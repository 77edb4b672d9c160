#include "pipeline/base/snapshot/tool.h"

#include <sys/stat.h>

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <iomanip>
#include <map>
#include <nlohmann/json.hpp>
#include <system_error>

#include "pipeline/base/snapshot/atomic_folder.h"
#include "pipeline/base/snapshot/manifest.h"
#include "pipeline/base/snapshot/snapshot_files.h"
#include "pipeline/base/snapshot/tensor_difference.h"
#include "pipeline/base/snapshot/weights_file.h"
#include "pipeline/base/telemetry/json_text.h"
#include "sampling/core/error.h"

namespace flowtrain {
namespace {

namespace fs = std::filesystem;

/// Returns "2.1 MB".
std::string size_text(std::uint64_t bytes) {
  const char* const units[] = {"B", "kB", "MB", "GB", "TB"};
  double size = static_cast<double>(bytes);
  std::size_t unit = 0;
  for (; size >= 999.95 && unit + 1 < std::size(units); ++unit) size /= 1000;
  char text[32];
  std::snprintf(text, sizeof text, unit == 0 ? "%.0f %s" : "%.1f %s", size, units[unit]);
  return text;
}

/// Returns the local time of a file's last write: "2024-05-01 12:30:05"; "?" if there is none.
std::string time_text(const fs::path& file) {
  struct stat status;
  std::tm local;
  char text[32];
  if (::stat(file.c_str(), &status) != 0 || !::localtime_r(&status.st_mtime, &local) ||
      std::strftime(text, sizeof text, "%F %T", &local) == 0)
    return "?";
  return text;
}

bool is_folder(const fs::path& path) {
  std::error_code error;
  return fs::is_directory(path, error);
}

/// A place is a folder of snapshots or one snapshot; only that member is set.
struct Place {
  fs::path snapshots_dir;
  fs::path snapshot;
};

Place find_place(fs::path place) {
  if (!place.has_filename()) place = place.parent_path();  // "runs/x/"
  if (!is_folder(place))
    throw UserError(ExitCode::snapshot, place.string() + ": no such folder",
                    "name a run's folder or one of its snapshots");
  if (is_folder(place / "snapshots")) return {place / "snapshots", {}};
  std::error_code error;
  if (fs::exists(place / manifest_name, error) || place.filename().string().starts_with("iter-")) return {{}, place};
  if (place.filename() == "snapshots" || !list_snapshots(place).empty()) return {place, {}};
  throw UserError(ExitCode::snapshot,
                  place.string() + ": neither a run nor a snapshot: it has no snapshots/ and no " + manifest_name,
                  "name a run's folder or one of its snapshots");
}

fs::path find_one(const fs::path& path, std::optional<std::uint64_t> iteration) {
  const auto place = find_place(path);
  if (!place.snapshot.empty()) return place.snapshot;
  if (iteration) return find_iteration(place.snapshots_dir, *iteration);
  return newest_good(place.snapshots_dir);
}

/// Returns the links of a folder, by the name they point at: {"iter-00000500", "latest, best"}.
std::map<std::string, std::string> link_targets(const fs::path& snapshots_dir) {
  std::map<std::string, std::string> links;
  std::error_code error;
  fs::directory_iterator entry(snapshots_dir, error);
  for (; !error && entry != fs::directory_iterator(); entry.increment(error)) {
    std::error_code no_link;
    const auto target = fs::read_symlink(entry->path(), no_link);
    if (no_link || is_leftover(entry->path().filename().string())) continue;
    auto& text = links[target.filename().string()];
    text += (text.empty() ? "" : ", ") + entry->path().filename().string();
  }
  return links;
}

void print_tensors(const char* title, const std::vector<TensorView>& tensors, std::ostream& out) {
  std::uint64_t bytes = 0;
  std::size_t width = 0;
  for (const auto& tensor : tensors) {
    bytes += tensor.bytes;
    width = std::max(width, tensor.name.size());
  }
  out << title << ": " << tensors.size() << " tensors, " << size_text(bytes) << "\n";
  for (const auto& tensor : tensors)
    out << "  " << std::left << std::setw(static_cast<int>(width)) << tensor.name << "  " << std::setw(4)
        << tensor.dtype << "  " << std::setw(20) << shape_text(tensor.shape) << "  " << tensor.bytes << " B\n";
}

void print(std::ostream& out, const TensorDifference& difference) {
  char text[64];
  std::snprintf(text, sizeof text, "by %.3g at most, of values up to %.3g", difference.largest,
                difference.largest_value);
  out << difference.values << " of " << difference.of << " values differ, " << text << "\n";
}

/// Returns the first line of a state's entry: numbers and short texts in full, for long ones their size.
std::string in_short(const nlohmann::ordered_json& value) {
  constexpr std::size_t most_characters = 100;
  auto text = json_text(value);
  if (text.size() <= most_characters) return text;
  if (value.is_structured()) return std::to_string(value.size()) + " entries";
  return std::to_string(text.size()) + " characters";
}

void print_state(const std::string& json, std::ostream& out) {
  const auto state = parse_json(json);
  out << "state:\n";
  std::size_t width = 0;
  for (const auto& entry : state.items()) width = std::max(width, entry.key().size());
  for (const auto& entry : state.items())
    out << "  " << std::left << std::setw(static_cast<int>(width)) << entry.key() << "  " << in_short(entry.value())
        << "\n";
}

/// Prints the differences between two files' tensors and returns their number.
std::size_t print_differences(const char* title, const SafetensorsFile& left, const SafetensorsFile& right,
                              std::ostream& out) {
  std::map<std::string_view, const TensorView*> others;
  for (const auto& tensor : right.tensors()) others.emplace(tensor.name, &tensor);
  std::size_t differences = 0;
  const auto difference = [&](std::string_view tensor) -> std::ostream& {
    ++differences;
    return out << title << ": " << tensor << ": ";
  };
  for (const auto& tensor : left.tensors()) {
    const auto found = others.find(tensor.name);
    if (found == others.end()) {
      difference(tensor.name) << "only in the first\n";
      continue;
    }
    const TensorView& other = *found->second;
    others.erase(found);
    if (tensor.dtype != other.dtype || tensor.shape != other.shape)
      difference(tensor.name) << tensor.dtype << " " << shape_text(tensor.shape) << " and " << other.dtype << " "
                              << shape_text(other.shape) << "\n";
    else if (!std::equal(tensor.data, tensor.data + tensor.bytes, other.data))
      print(difference(tensor.name), difference_of(tensor, other));
  }
  for (const auto& [name, tensor] : others) difference(name) << "only in the second\n";
  return differences;
}

}  // namespace

ExitCode snapshot_ls(const fs::path& path, std::ostream& out) {
  const auto place = find_place(path);
  const auto dir = place.snapshot.empty() ? place.snapshots_dir : folder_of(place.snapshot);
  const auto all = list_snapshots(dir);
  if (all.empty()) {
    out << "no snapshots in " << dir.string() << "\n";
    return ExitCode::ok;
  }
  const auto links = link_targets(dir);
  out << " iteration        size  when                 state\n";
  for (const auto& info : all) {
    out << std::right << std::setw(10) << info.iteration << "  " << std::setw(10) << size_text(info.bytes) << "  "
        << std::left << std::setw(19) << time_text(info.path / manifest_name) << "  "
        << (info.complete ? "complete" : "not complete: " + info.reason);
    if (const auto found = links.find(info.path.filename().string()); found != links.end())
      out << "  [" << found->second << "]";
    out << "\n";
  }
  return ExitCode::ok;
}

ExitCode snapshot_show(const fs::path& place, std::optional<std::uint64_t> iteration, std::ostream& out) {
  const auto path = find_one(place, iteration);
  const auto snapshot = open_snapshot(path);
  out << path.string() << ": iteration " << snapshot.iteration << "\n";
  print_tensors("model", snapshot.model.tensors(), out);
  print_tensors("optim", snapshot.optim.tensors(), out);
  print_state(snapshot.state_json, out);
  return ExitCode::ok;
}

ExitCode snapshot_verify(const fs::path& path, std::ostream& out) {
  const auto place = find_place(path);
  std::vector<fs::path> snapshots;
  if (place.snapshot.empty())
    for (const auto& info : list_snapshots(place.snapshots_dir)) snapshots.push_back(info.path);
  else
    snapshots.push_back(place.snapshot);
  if (snapshots.empty()) throw UserError(ExitCode::snapshot, "no snapshot in " + place.snapshots_dir.string());
  bool good = true;
  for (const auto& snapshot : snapshots) {
    const auto problems = verify_snapshot(snapshot);
    good = good && problems.empty();
    if (problems.empty()) out << snapshot.string() << ": good\n";
    for (const auto& problem : problems) out << snapshot.string() << ": " << problem << "\n";
  }
  return good ? ExitCode::ok : ExitCode::snapshot;
}

ChosenSnapshot snapshot_of(const fs::path& path, const SnapshotWish& wish) {
  const auto place = find_place(path);
  return place.snapshot.empty() ? choose_snapshot(place.snapshots_dir, wish) : ChosenSnapshot{place.snapshot};
}

void export_weights(const ChosenSnapshot& chosen, bool averaged, const fs::path& target, std::ostream& out) {
  const auto snapshot = open_snapshot(chosen.path);
  if (averaged) require_average(snapshot);
  const auto averages = averaged ? averaged_model(snapshot) : std::vector<TensorView>();
  const auto tensors = averaged ? std::span<const TensorView>(averages) : snapshot.model.tensors();
  std::uint64_t bytes = 0;
  write_file_atomically(target,
                        [&](File& file) { bytes = write_safetensors(file, tensors, snapshot.model.metadata()).bytes; });
  out << target.string() << ": " << snapshot.model.tensors().size() << " tensors of iteration " << snapshot.iteration
      << (chosen.why.empty() ? "" : " (" + chosen.why + ")") << ", " << size_text(bytes) << "\n";
}

ExitCode snapshot_convert(const fs::path& source, const std::string& key, const Renaming& renaming,
                          const fs::path& target, std::ostream& out) {
  const WeightsFile file(source, {.place = key, .setting = "--key "});
  const auto tensors = renaming(file.tensors());
  std::uint64_t bytes = 0;
  write_file_atomically(target, [&](File& written) { bytes = write_safetensors(written, tensors).bytes; });
  out << target.string() << ": " << tensors.size() << " of " << file.tensors().size() << " tensors of "
      << source.string() << (file.place() == "." ? "" : ", under " + shown(file.place())) << ", " << size_text(bytes)
      << "\n";
  return ExitCode::ok;
}

ExitCode snapshot_diff(const fs::path& left, const fs::path& right, std::ostream& out) {
  const auto one = open_snapshot(find_one(left, {}));
  const auto other = open_snapshot(find_one(right, {}));
  auto differences = print_differences("model", one.model, other.model, out);
  differences += print_differences("optim", one.optim, other.optim, out);
  if (one.state_json != other.state_json) out << "state.json differs, which elapsed times alone can do\n";
  if (differences == 0)
    out << "the same: " << one.model.tensors().size() << " tensors of the model, " << one.optim.tensors().size()
        << " of the optimizer\n";
  return differences == 0 ? ExitCode::ok : ExitCode::snapshot;
}

}  // namespace flowtrain

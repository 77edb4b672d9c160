#include "tests/crash/disk_states.h"

#include <algorithm>
#include <fstream>
#include <limits>
#include <optional>
#include <span>
#include <unordered_set>
#include <vector>

#include "pipeline/base/snapshot/hash.h"
#include "sampling/core/random.h"

namespace flowtrain {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t sector_bytes = 512;
constexpr std::uint64_t few_states = 1024;  // up to so many, a point's states are all tried
constexpr int rounds_without_news = 64;     // then there are hardly any more
constexpr std::size_t never = std::numeric_limits<std::size_t>::max();

/// What becomes of a step that is not durable. A write torn at the k-th sector boundary in it is `torn + k`.
enum Fate : std::uint64_t { kept, lost, zeros, junk, torn };

/// The first sector boundary after the beginning of a write.
std::uint64_t first_boundary(const DiskStep& write) { return (write.offset / sector_bytes + 1) * sector_bytes; }

std::uint64_t fates_of(const DiskStep& step) {
  if (step.kind != DiskStep::write) return 2;
  const auto end = step.offset + step.data.size();
  const auto first = first_boundary(step);
  return torn + (first < end ? (end - 1 - first) / sector_bytes + 1 : 0);
}

/// For each step: after how many steps it is on the disk, whatever happens.
std::vector<std::size_t> durable_after(const DiskLog& log) {
  const auto synced_after = [&](std::size_t step, int node) {
    for (auto i = step + 1; i < log.steps.size(); ++i)
      if (log.steps[i].kind == DiskStep::sync && log.steps[i].node == node) return i + 1;
    return never;
  };
  std::vector<std::size_t> durable(log.steps.size(), 0);
  for (std::size_t i = 0; i < log.steps.size(); ++i) {
    const auto& step = log.steps[i];
    if (step.kind == DiskStep::write || step.kind == DiskStep::resize) durable[i] = synced_after(i, step.node);
    for (const auto& change : step.changes) durable[i] = std::max(durable[i], synced_after(i, change.folder));
  }
  return durable;
}

/// A power cut after a number of steps, and what may become of those that are not durable by then.
class PowerCut {
 public:
  PowerCut(const DiskLog& log, const std::vector<std::size_t>& durable, std::size_t steps) : log_(log), steps_(steps) {
    for (std::size_t i = 0; i < steps; ++i) {
      if (durable[i] <= steps) continue;
      pending_.push_back(i);
      if (all_ <= few_states) all_ *= fates_of(log.steps[i]);
    }
  }

  /// The `number`-th way it may go, a fate for each pending step; nothing where all have been told.
  std::optional<std::vector<std::uint64_t>> fates(std::uint64_t number, std::uint64_t seed) const {
    if (all_ <= few_states) return number < all_ ? std::optional(digits(number)) : std::nullopt;
    std::vector<std::uint64_t> fates(pending_.size(), number % 2 ? lost : kept);
    if (number < 2) return fates;
    number -= 2;
    // One step alone is lost or torn, and one alone is kept.
    if (number / 2 < pending_.size()) {
      auto& alone = fates[number / 2];
      alone = number % 2 ? static_cast<std::uint64_t>(kept)
                         : 1 + Stream(seed, Purpose::sample, number).below(count(number / 2) - 1);
      return fates;
    }
    Stream random(seed, Purpose::sample, mix64(steps_) + number);
    for (std::size_t i = 0; i < fates.size(); ++i) fates[i] = random.below(count(i));
    return fates;
  }

  DiskState state(const std::vector<std::uint64_t>& fates) const;

 private:
  std::uint64_t count(std::size_t pending) const { return fates_of(log_.steps[pending_[pending]]); }

  std::vector<std::uint64_t> digits(std::uint64_t number) const {
    std::vector<std::uint64_t> fates;
    for (std::size_t i = 0; i < pending_.size(); ++i) {
      fates.push_back(number % count(i));
      number /= count(i);
    }
    return fates;
  }

  const DiskLog& log_;
  std::size_t steps_;
  std::vector<std::size_t> pending_;
  std::uint64_t all_ = 1;  // product of their fates; beyond few_states it is not counted further
};

/// The nodes of a disk while steps are played on it.
struct Disk {
  explicit Disk(const DiskLog& log) : log(log), contents(log.nodes.size()), folders(log.nodes.size()) {}

  void play(const DiskStep& step, std::uint64_t fate) {
    if (fate == lost) return;
    for (const auto& [folder, name, node] : step.changes) {
      auto& names = folders[static_cast<std::size_t>(folder)];
      if (node < 0)
        names.erase(name);
      else
        names[name] = node;
    }
    if (step.kind == DiskStep::resize) contents[static_cast<std::size_t>(step.node)].resize(step.offset);
    if (step.kind == DiskStep::write) write(step, fate);
  }

  void write(const DiskStep& step, std::uint64_t fate) {
    auto& content = contents[static_cast<std::size_t>(step.node)];
    auto end = step.offset + step.data.size();
    if (fate >= torn) end = first_boundary(step) + (fate - torn) * sector_bytes;
    if (content.size() < end) content.resize(end);
    const auto to = content.begin() + static_cast<std::ptrdiff_t>(step.offset);
    if (fate == zeros || fate == junk)
      std::fill(to, content.begin() + static_cast<std::ptrdiff_t>(end), fate == zeros ? '\0' : '\x5a');
    else
      std::transform(step.data.begin(), step.data.begin() + static_cast<std::ptrdiff_t>(end - step.offset), to,
                     [](std::byte byte) { return static_cast<char>(byte); });
  }

  void collect(int folder, const std::string& above, DiskState& state) const {
    for (const auto& [name, number] : folders[static_cast<std::size_t>(folder)]) {
      const auto& node = log.nodes[static_cast<std::size_t>(number)];
      const auto path = above + name;
      state.entries[path] = {node.kind,
                             node.kind == DiskNode::link ? node.target : contents[static_cast<std::size_t>(number)]};
      if (node.kind == DiskNode::folder) collect(number, path + "/", state);
    }
  }

  const DiskLog& log;
  std::vector<std::string> contents;
  std::vector<std::map<std::string, int>> folders;
};

DiskState PowerCut::state(const std::vector<std::uint64_t>& fates) const {
  Disk disk(log_);
  std::size_t next = 0;
  for (std::size_t i = 0; i < steps_; ++i) {
    const bool pending = next < pending_.size() && pending_[next] == i;
    disk.play(log_.steps[i], pending ? fates[next++] : static_cast<std::uint64_t>(kept));
  }
  DiskState state;
  state.steps = steps_;
  disk.collect(0, "", state);
  return state;
}

/// The same for equal content after equally many reports.
std::string key_of(const DiskState& state, std::size_t reports) {
  Xxh64 hash;
  const auto add = [&](const std::string& text) {
    const std::uint64_t size = text.size();  // so that no two lists of texts look alike
    hash.update(std::as_bytes(std::span(&size, 1)));
    hash.update(std::as_bytes(std::span(text)));
  };
  for (const auto& [path, entry] : state.entries) {
    add(path);
    add(std::to_string(entry.kind) + entry.content);
  }
  return hash.hex() + std::to_string(reports);
}

}  // namespace

std::uint64_t for_each_state(const DiskLog& log, std::uint64_t limit, std::uint64_t seed,
                             const std::function<void(const DiskState&)>& visit) {
  const auto durable = durable_after(log);
  std::vector<PowerCut> cuts;
  std::vector<std::size_t> reports(1, 0);  // by number of steps
  for (std::size_t steps = 0; steps <= log.steps.size(); ++steps) {
    cuts.emplace_back(log, durable, steps);
    if (steps < log.steps.size()) reports.push_back(reports.back() + (log.steps[steps].kind == DiskStep::report));
  }

  std::unordered_set<std::string> seen;
  int quiet = 0;
  for (std::uint64_t round = 0; seen.size() < limit && quiet < rounds_without_news; ++round) {
    const auto before = seen.size();
    for (std::size_t steps = 0; steps < cuts.size() && seen.size() < limit; ++steps) {
      const auto fates = cuts[steps].fates(round, seed);
      if (!fates) continue;
      const auto state = cuts[steps].state(*fates);
      if (seen.insert(key_of(state, reports[steps])).second) visit(state);
    }
    quiet = seen.size() == before ? quiet + 1 : 0;
  }
  return seen.size();
}

void materialise(const DiskState& state, const fs::path& folder) {
  fs::remove_all(folder);
  fs::create_directory(folder);
  for (const auto& [path, entry] : state.entries) {
    switch (entry.kind) {
      case DiskNode::folder: fs::create_directory(folder / path); break;
      case DiskNode::link: fs::create_symlink(entry.content, folder / path); break;
      case DiskNode::file:
        if (!(std::ofstream(folder / path, std::ios::binary) << entry.content << std::flush))
          throw fs::filesystem_error("cannot be written", folder / path, std::make_error_code(std::errc::io_error));
        break;
    }
  }
}

}  // namespace flowtrain

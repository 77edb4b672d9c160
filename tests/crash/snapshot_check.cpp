#include "tests/crash/snapshot_check.h"

#include <algorithm>
#include <sstream>

#include "pipeline/base/snapshot/atomic_folder.h"
#include "sampling/core/random.h"

namespace flowtrain {
namespace {

namespace fs = std::filesystem;

// A few sectors each, so that writes can be torn; none a whole number of them.
constexpr std::int64_t weights = 450, biases = 70;

bool same(const std::vector<TensorView>& found, const std::vector<TensorView>& expected) {
  return std::ranges::equal(found, expected, [](const TensorView& left, const TensorView& right) {
    return left.name == right.name && left.dtype == right.dtype && left.shape == right.shape &&
           std::equal(left.data, left.data + left.bytes, right.data, right.data + right.bytes);
  });
}

/// What differs between a snapshot and what was saved as that iteration.
std::string check_content(const fs::path& path) {
  const auto snapshot = open_snapshot(path);
  const KnownContent known(snapshot.iteration);
  const auto& content = known.content();
  if (!same(snapshot.model.tensors(), content.model) || !same(snapshot.optim.tensors(), content.optim) ||
      snapshot.state_json != content.state_json || snapshot.config_toml != content.config_toml)
    return path.filename().string() + " holds something else than was saved";
  return {};
}

std::string check_newest(const fs::path& snapshots_dir, const Promise& promise) {
  const auto newest = find_newest(snapshots_dir);
  const auto expected = "iteration " + std::to_string(promise.saved) + " was saved, ";
  if (!newest.path) {
    if (promise.saved == 0) return {};
    return expected + "none is found" +
           (newest.passed_over.empty() ? "" : " (" + newest.passed_over.front().reason + ")");
  }
  const auto iteration = open_snapshot(*newest.path).iteration;
  if (iteration < promise.saved || iteration > promise.last)
    return expected + "that of " + std::to_string(iteration) + " is found";
  return check_content(*newest.path);
}

}  // namespace

KnownContent::KnownContent(std::uint64_t iteration) {
  Stream random(iteration, Purpose::sample, 0);
  const auto tensor = [&](const char* name, std::int64_t elements) {
    auto& bytes = bytes_.emplace_back(static_cast<std::size_t>(elements) * sizeof(float));
    for (auto& byte : bytes) byte = static_cast<std::byte>(random.next());
    return TensorView{name, "F32", {elements}, bytes.data(), bytes.size()};
  };
  content_ = {iteration,
              {tensor("weight", weights), tensor("bias", biases)},
              {tensor("weight.momentum", weights), tensor("bias.momentum", biases)},
              "{\"iteration\": " + std::to_string(iteration) + "}",
              "name = \"selftest\"\n# " + std::to_string(iteration) + "\n"};
}

void Promise::take(const std::string& line) {
  std::istringstream words(line);
  std::string what;
  std::uint64_t iteration = 0;
  if (!(words >> what >> iteration)) return;
  if (what == "saved") saved = iteration;
  if (what == "best") best = iteration;
}

std::string check_promise(const fs::path& snapshots_dir, const Promise& promise) try {
  if (auto wrong = check_newest(snapshots_dir, promise); !wrong.empty()) return wrong;
  if (promise.best != 0) {
    const auto best = find_iteration(snapshots_dir, promise.best);
    if (auto wrong = check_content(best); !wrong.empty()) return wrong;
  }
  for (const char* link : {"latest", "best"})
    if (fs::is_symlink(snapshots_dir / link))
      if (auto wrong = check_content(fs::canonical(snapshots_dir / link)); !wrong.empty()) return wrong;
  return {};
} catch (const std::exception& error) {
  return error.what();
}

std::string check_next_save(const fs::path& snapshots_dir, std::uint64_t iteration) try {
  const auto path = write_snapshot(snapshots_dir, KnownContent(iteration).content());
  if (const auto newest = find_newest(snapshots_dir).path; newest != path)
    return "the next save is not found: " + path.string();
  for (const auto& entry : fs::directory_iterator(snapshots_dir))
    if (is_leftover(entry.path().filename().string())) return "left over: " + entry.path().string();
  return check_content(path);
} catch (const std::exception& error) {
  return std::string("the next save fails: ") + error.what();
}

}  // namespace flowtrain

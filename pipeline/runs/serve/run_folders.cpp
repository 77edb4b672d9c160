#include "pipeline/runs/serve/run_folders.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "pipeline/base/config/run_file.h"
#include "pipeline/base/config/run_folder.h"

namespace flowtrain::serve {
namespace {

namespace fs = std::filesystem;

constexpr int most_depth = 3;
constexpr std::size_t most_runs = 1'000;

std::string type_of(const std::vector<std::string>& path) {
  if (path.size() == 1) {
    const auto found = std::ranges::find_if(run_files, [&](auto& file) { return path[0] == file.name && file.type; });
    return found == std::end(run_files) ? "" : found->type;
  }
  const bool of_test =
      path[0] == "test" && (path.size() == 3 || path.size() == 4);  // RUN/test/PART, RUN/test/NAME/PART
  if (!of_test && (path.size() != 3 || path[0] != "pictures")) return "";
  const auto& name = path.back();
  if (name.ends_with(".wav")) return "audio/wav";
  return name.ends_with(".png") ? "image/png" : name == "pictures.json" ? "application/json" : "";
}

bool is_within(const fs::path& path, const fs::path& folder) {
  const auto [end, ignored] = std::mismatch(folder.begin(), folder.end(), path.begin(), path.end());
  return end == folder.end();
}

// Returns whether a link among the files of a page leads out of `root`. Weights and events are not read.
bool leads_out(const fs::path& run, const fs::path& root) {
  std::error_code error;
  fs::recursive_directory_iterator each(run, error), end;
  for (; !error && each != end; each.increment(error)) {
    const auto name = each->path().filename();
    if (each.depth() == 0 && (name == "snapshots" || name == "tensorboard" || name == "flight"))
      each.disable_recursion_pending();
    else if (each->is_symlink(error) && !is_within(fs::weakly_canonical(each->path(), error), root))
      return true;
  }
  return static_cast<bool>(error);
}

void find_in(const fs::path& folder, const fs::path& root, const std::string& prefix, int depth,
             std::vector<FoundRun>& found) {
  std::error_code error;
  for (fs::directory_iterator each(folder, error), end; !error && each != end; each.increment(error)) {
    if (found.size() >= most_runs) return;
    const auto file = each->path().filename().string();
    if (file.starts_with('.') || each->is_symlink(error) || !each->is_directory(error)) continue;
    if (!holds_run(each->path())) {
      if (depth < most_depth) find_in(each->path(), root, prefix + file + "/", depth + 1, found);
    } else if (!leads_out(each->path(), root)) {
      found.push_back({prefix + file, each->path()});
    }
  }
}

class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  const int& number() const { return number_; }

 private:
  int number_;
};

}  // namespace

std::vector<FoundRun> find_runs(const fs::path& folder) {
  const auto root = fs::canonical(folder);
  std::vector<FoundRun> found;
  if (!holds_run(root))
    find_in(root, root, "", 1, found);
  else if (!leads_out(root, root))
    found.push_back({root.filename().string(), root});
  std::ranges::sort(found, {}, &FoundRun::name);
  return found;
}

std::optional<ServedFile> open_served_file(const fs::path& run, const std::vector<std::string>& path) {
  const auto type = type_of(path);
  if (type.empty()) return {};
  Descriptor at(::open(run.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  for (auto& part : path) {
    const int kind = &part == &path.back() ? O_NONBLOCK : O_DIRECTORY;  // opening a pipe must not block
    at = Descriptor(::openat(at.number(), part.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | kind));
    if (at.number() < 0) return {};
  }
  struct stat state {};
  if (::fstat(at.number(), &state) != 0 || !S_ISREG(state.st_mode)) return {};
  auto owner = std::make_shared<const Descriptor>(std::move(at));
  return ServedFile{{owner, &owner->number()}, static_cast<std::uint64_t>(state.st_size), type};
}

std::string ServedFile::part(std::uint64_t offset) const {
  std::string bytes(64 << 10, '\0');
  const auto got = TEMP_FAILURE_RETRY(::pread(*descriptor, bytes.data(), bytes.size(), static_cast<off_t>(offset)));
  bytes.resize(static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  return bytes;
}

}  // namespace flowtrain::serve

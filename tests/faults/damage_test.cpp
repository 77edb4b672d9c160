// Bytes that change on the disk: each single one, cuts, bursts, and files of another snapshot. All are found, and the
// snapshot before is taken.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <unistd.h>

#include <memory>
#include <optional>

#include "pipeline/base/snapshot/manifest.h"
#include "sampling/core/random.h"
#include "tests/support/fast_folder.h"
#include "tests/support/fault_points.h"
#include "tests/support/snapshot_fixture.h"

namespace flowtrain::damage_test {

using namespace flowtrain::test;

namespace {

const std::vector<std::string> files{"model.safetensors", "optim.safetensors", "state.json", "config.toml",
                                     manifest_name};
constexpr std::int64_t width = 2700;  // 64 KiB in all

/// One file, open for changing bytes in their place.
class Bytes {
 public:
  explicit Bytes(const fs::path& path) : text_(get(path)), descriptor_(::open(path.c_str(), O_RDWR | O_CLOEXEC)) {
    REQUIRE(descriptor_ >= 0);
  }
  Bytes(const Bytes&) = delete;
  ~Bytes() { ::close(descriptor_); }

  const std::string& text() const { return text_; }
  void put(std::size_t at, const std::string& bytes) {
    REQUIRE(::pwrite(descriptor_, bytes.data(), bytes.size(), static_cast<off_t>(at)) ==
            static_cast<ssize_t>(bytes.size()));
  }
  void cut(std::size_t size) { REQUIRE(::ftruncate(descriptor_, static_cast<off_t>(size)) == 0); }
  /// As it was at first.
  void restore() {
    cut(text_.size());
    put(0, text_);
  }

 private:
  std::string text_;
  int descriptor_;
};

/// Snapshots 1 (small) and 2 (64 KiB, or what is given; to be damaged).
struct TwoSnapshots {
  FastFolder folder;
  fs::path good = save(folder.path(), 1);
  fs::path damaged;

  TwoSnapshots() : damaged(save(folder.path(), 2, width)) {}
  explicit TwoSnapshots(const SnapshotContent& second) : damaged(write_snapshot(folder.path(), second)) {}

  /// Whether 1 is taken, and 2 passed over because of `file`.
  bool found(const std::string& file) const {
    const auto newest = find_newest(folder.path());
    return newest.path == good && newest.passed_over.size() == 1 && newest.passed_over[0].path == damaged &&
           newest.passed_over[0].reason.find(file + ": ") != std::string::npos;
  }
};

/// Whether random bytes in the place of up to `longest` of the file's are found. The file is restored.
bool finds_burst(const TwoSnapshots& snapshots, const std::string& name, Bytes& file, std::size_t longest,
                 Stream& random) {
  const auto at = random.below(file.text().size());
  const auto was = file.text().substr(at, 1 + random.below(longest));
  auto bytes = was;
  for (auto& byte : bytes) byte = static_cast<char>(random.next());
  if (bytes == was) bytes[0] ^= 1;
  file.put(at, bytes);
  const bool found = snapshots.found(name);
  file.put(at, was);
  return found;
}

}  // namespace

TEST_CASE("damage: every byte of a snapshot of 64 KiB, changed alone, is found" * points_sampled) {
  const TwoSnapshots snapshots;
  FaultPoints points("changed bytes");
  std::uint64_t point = 0, missed = 0;
  for (const auto& name : files) {
    Bytes file(snapshots.damaged / name);
    for (std::size_t at = 0; at < file.text().size(); ++at) {
      if (!points.includes(++point)) continue;
      points.count();
      const char was = file.text()[at];
      file.put(at, {static_cast<char>(was ^ (1 << mix64(point) % 8))});
      if (!snapshots.found(name) && ++missed < 10) FAIL_CHECK(name << ": byte " << at << "; " << points.repeat(point));
      file.put(at, {was});
    }
  }
  CHECK(missed == 0);
  CHECK(find_newest(snapshots.folder.path()).path == snapshots.damaged);
  points.finish();
}

TEST_CASE("damage: every file cut short at every length, or longer, is found" * points_sampled) {
  const TwoSnapshots snapshots;
  FaultPoints points("cuts");
  std::uint64_t point = 0, missed = 0;
  for (const auto& name : files) {
    Bytes file(snapshots.damaged / name);
    const auto size = file.text().size();
    const auto attempt = [&](std::size_t bytes) {
      if (!points.includes(++point)) return;
      points.count();
      file.cut(bytes);
      if (!snapshots.found(name) && ++missed < 10)
        FAIL_CHECK(name << ": " << bytes << " bytes; " << points.repeat(point));
    };
    for (const auto more : {1ul, 64ul, 4096ul}) attempt(size + more);
    for (auto bytes = size; bytes-- > 0;) attempt(bytes);
    file.restore();
  }
  CHECK(missed == 0);
  CHECK(find_newest(snapshots.folder.path()).path == snapshots.damaged);
  points.finish();
}

TEST_CASE("damage: bursts of changed bytes are found" * points_sampled) {
  const TwoSnapshots snapshots;
  FaultPoints points("bursts");
  std::uint64_t missed = 0;
  std::vector<std::unique_ptr<Bytes>> open;
  for (const auto& name : files) open.push_back(std::make_unique<Bytes>(snapshots.damaged / name));
  for (const std::uint64_t burst : points.each(10'000)) {
    points.count();
    Stream random(4, Purpose::sample, burst);
    const auto which = random.below(files.size());
    if (!finds_burst(snapshots, files[which], *open[which], 512, random) && ++missed < 10)
      FAIL_CHECK(files[which] << ": burst " << burst << "; " << points.repeat(burst));
  }
  CHECK(missed == 0);
  points.finish();
}

TEST_CASE("damage: bursts of changed bytes in a large file are found" * points_sampled) {
  // With FLOWTRAIN_TIMES=64 it is a file of 1 GiB, and there are 10,240 bursts.
  const auto tensor_bytes = static_cast<std::int64_t>(times() << 20);
  std::optional<TwoSnapshots> snapshots;
  {
    std::vector<Tensor> tensors;
    for (unsigned i = 0; i < 16; ++i)
      tensors.emplace_back("part" + std::to_string(i), "U8", std::vector{tensor_bytes}, i);
    SnapshotContent content{2, {}, {}, "{}", ""};
    for (auto& tensor : tensors) content.model.push_back(tensor.view);
    snapshots.emplace(content);
  }
  Bytes file(snapshots->damaged / files.front());
  FaultPoints points("bursts in a large file");
  for (const std::uint64_t burst : points.each(160 * times())) {
    INFO(points.repeat(burst));
    points.count();
    Stream random(5, Purpose::sample, burst);
    CHECK(finds_burst(*snapshots, files.front(), file, 1 << 16, random));
  }
  CHECK(find_newest(snapshots->folder.path()).path == snapshots->damaged);
  points.finish();
}

TEST_CASE("damage: files of another snapshot, or in each other's place, are found") {
  const FastFolder folder;
  const auto first = save(folder.path(), 1), second = save(folder.path(), 2), third = save(folder.path(), 3);
  auto other = SmallContent(3);  // all of its files differ from the second one's
  other.content.config_toml = "name = \"other\"\n";
  REQUIRE(write_snapshot(folder.path(), other.content) == third);
  const auto swap = [](const fs::path& left, const fs::path& right) {
    fs::rename(left, left.string() + "-aside");
    fs::rename(right, left);
    fs::rename(left.string() + "-aside", right);
  };
  FaultPoints points("files in another's place");
  // Every set of files exchanged between the second and the third; both are no longer what they were.
  for (unsigned set = 1; set < 1u << files.size(); ++set) {
    points.count();
    const auto swap_set = [&] {
      for (std::size_t i = 0; i < files.size(); ++i)
        if (set >> i & 1) swap(second / files[i], third / files[i]);
    };
    swap_set();
    const auto newest = find_newest(folder.path());
    CHECK_MESSAGE(newest.path == first, "set " << set);
    CHECK(newest.passed_over.size() == 2);
    swap_set();
  }
  // Two files of one snapshot in each other's place.
  for (std::size_t i = 0; i < files.size(); ++i) {
    for (std::size_t j = i + 1; j < files.size(); ++j) {
      points.count();
      swap(third / files[i], third / files[j]);
      CHECK(find_newest(folder.path()).path == second);
      swap(third / files[i], third / files[j]);
    }
  }
  CHECK(find_newest(folder.path()).path == third);
  points.finish();
}

}  // namespace flowtrain::damage_test

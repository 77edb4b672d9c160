// A disk that fills up while snapshots are saved: at every instant there is a good one, as another thread sees it.
#include <doctest/doctest.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/statvfs.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "sampling/core/error.h"
#include "sampling/core/random.h"
#include "stages/system/signals.h"
#include "tests/support/fast_folder.h"
#include "tests/support/fault_points.h"
#include "tests/support/snapshot_fixture.h"

namespace flowtrain::full_disk_test {

using namespace flowtrain::test;

namespace {

constexpr std::int64_t width = 2700;                // a snapshot of 64 KiB
constexpr std::uint64_t snapshot_bytes = 80 << 10;  // and what its files take on the disk

/// A disk with a limit on what can be written: a small one of its own where we may mount it, otherwise a limit on the
/// size of files.
class LimitedDisk {
 public:
  explicit LimitedDisk(const fs::path& at) : at_(at) {
    fs::create_directories(at_);
    mounted_ = ::mount("none", at_.c_str(), "tmpfs", 0, "size=1m") == 0;
    prepare_descriptors_and_signals();  // as the program does: writes beyond the limit fail
  }
  LimitedDisk(const LimitedDisk&) = delete;
  ~LimitedDisk() {
    free_room();
    if (mounted_) ::umount2(at_.c_str(), MNT_DETACH);
  }
  bool mounted() const { return mounted_; }

  void leave_room(std::uint64_t bytes) {
    if (!mounted_) return limit_files(bytes / 2);
    struct statvfs status;
    REQUIRE(::statvfs(at_.c_str(), &status) == 0);
    const auto room = status.f_bavail * status.f_frsize;
    put(at_ / "filler", std::string(room > bytes ? room - bytes : 0, 'x'));
  }
  void free_room() {
    if (mounted_)
      fs::remove(at_ / "filler");
    else
      limit_files(RLIM_INFINITY);
  }

 private:
  static void limit_files(rlim_t bytes) {
    rlimit limit;
    ::getrlimit(RLIMIT_FSIZE, &limit);
    limit.rlim_cur = std::min(bytes, limit.rlim_max);
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }

  fs::path at_;
  bool mounted_;
};

/// Looks for the newest good snapshot all the time.
class Observer {
 public:
  explicit Observer(const fs::path& snapshots_dir) : thread_([this, snapshots_dir] { loop(snapshots_dir); }) {}
  Observer(const Observer&) = delete;
  ~Observer() {
    ended_ = true;
    thread_.join();
  }
  std::uint64_t looks() const { return looks_; }
  std::uint64_t without() const { return without_; }
  std::uint64_t went_back() const { return went_back_; }

 private:
  void loop(const fs::path& snapshots_dir) {
    fs::path before;
    for (; !ended_; ++looks_) {
      const auto newest = find_newest(snapshots_dir).path;
      if (!newest) ++without_;
      if (newest && *newest < before) ++went_back_;
      if (newest) before = *newest;
    }
  }

  std::atomic<bool> ended_ = false;
  std::atomic<std::uint64_t> looks_ = 0, without_ = 0, went_back_ = 0;
  std::thread thread_;
};

}  // namespace

TEST_CASE("full disk: at each of 500 fills there is a good snapshot at every instant, and the next save is good" *
          points_sampled) {
  const FastFolder folder;
  LimitedDisk disk(folder / "disk");
  if (!disk.mounted()) MESSAGE("no rights to mount a small disk: the size of files is limited instead");
  const auto snapshots = folder / "disk/snapshots";
  FaultPoints points("fills of the disk");
  std::uint64_t iteration = 1, failures = 0;
  save(snapshots, iteration++, width);

  const auto begin = std::chrono::steady_clock::now();
  std::uint64_t looks = 0;
  {
    const Observer observer(snapshots);
    for (const std::uint64_t fill : points.each(500 * times())) {
      INFO(points.repeat(fill));
      points.count();
      Stream random(21, Purpose::sample, fill);
      const auto detected = observer.looks();
      disk.leave_room(random.below(snapshot_bytes * 5 / 4));
      try {
        save(snapshots, iteration, width);
      } catch (const UserError& error) {
        ++failures;
        CHECK(contains(error.what(), disk.mounted() ? "No space left on device" : "File too large"));
      }
      disk.free_room();
      CHECK(find_newest(snapshots).passed_over.empty());
      save(snapshots, ++iteration, width);
      CHECK(find_newest(snapshots).path == snapshots / snapshot_name(iteration));
      prune(snapshots, 2);
      ++iteration;
      while (observer.looks() < detected + 2) std::this_thread::yield();
    }
    looks = observer.looks();
    CHECK(observer.without() == 0);
    CHECK(observer.went_back() == 0);
  }
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  MESSAGE(failures << " saves failed; " << looks << " looks at the folder, " << static_cast<int>(looks / took.count())
                   << " a second");
  if (points.tried() > 1) CHECK(failures > points.tried() / 2);
  CHECK(find_newest(snapshots).passed_over.empty());
  CHECK(list_snapshots(snapshots).size() == 2);
  points.finish();
}

}  // namespace flowtrain::full_disk_test

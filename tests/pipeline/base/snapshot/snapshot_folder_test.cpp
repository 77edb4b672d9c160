// The folder of snapshots: listing, finding, cleaning, pruning, and what a full or unusable disk does.
#include <doctest/doctest.h>
#include <sys/mount.h>

#include "pipeline/base/snapshot/atomic_folder.h"
#include "pipeline/base/snapshot/manifest.h"
#include "pipeline/base/snapshot/snapshot_files.h"
#include "sampling/core/error.h"
#include "tests/support/skip.h"
#include "tests/support/snapshot_fixture.h"

namespace flowtrain::snapshot_folder_test {

using namespace flowtrain::test;

namespace {

/// The iterations in a folder, the newest first, "!" after those not complete: "300! 200 100".
std::string iterations(const fs::path& folder) {
  std::string text;
  for (const auto& info : list_snapshots(folder)) {
    if (!text.empty()) text += ' ';
    text += std::to_string(info.iteration);
    if (!info.complete) text += '!';
  }
  return text;
}

/// A mounted tmpfs of so many bytes, where we may mount.
class SmallDisk {
 public:
  SmallDisk(const fs::path& at, const std::string& size) : at_(at) {
    fs::create_directories(at_);
    mounted_ = ::mount("none", at_.c_str(), "tmpfs", 0, ("size=" + size).c_str()) == 0;
  }
  SmallDisk(const SmallDisk&) = delete;
  ~SmallDisk() {
    if (mounted_) ::umount(at_.c_str());
  }
  bool mounted() const { return mounted_; }

 private:
  fs::path at_;
  bool mounted_;
};

}  // namespace

TEST_CASE("listing: the newest first, strangers left out, damage with its reason") {
  TempFolder folder;
  CHECK(list_snapshots(folder / "none").empty());
  for (const auto iteration : {100, 1000000000, 200}) save(folder.path(), iteration);
  fs::create_directory(folder / "iter-500");
  fs::create_directory(folder / "iter-00000500x");
  fs::create_directory(folder / "notes");
  CHECK(iterations(folder.path()) == "1000000000 200 100");

  fs::remove(folder / "iter-00000200" / manifest_name);
  put(folder / "iter-00000100/state.json", "");
  const auto all = list_snapshots(folder.path());
  CHECK(iterations(folder.path()) == "1000000000 200! 100!");
  CHECK(all[0].bytes > 200);
  CHECK(contains(all[1].reason, "iter-00000200/manifest.json: open: No such file or directory"));
  CHECK(all[2].reason == "state.json: 0 bytes, the manifest says 13");

  put(folder / "file", "");
  CHECK(contains(message_of([&] { list_snapshots(folder / "file"); }), "/file: opendir: Not a directory"));
}

TEST_CASE("leftovers of a killed save are ignored, and removed by the next one") {
  TempFolder folder;
  save(folder.path(), 1);
  const auto leave = [&] {
    fs::copy(folder / "iter-00000001", folder / "iter-00000002.tmp-4242-0", fs::copy_options::recursive);
    fs::create_directory(folder / ".trash-iter-00000000-4242-1");
    fs::create_symlink("iter-00000002", folder / "latest.tmp-4242-2");
  };
  leave();
  CHECK(iterations(folder.path()) == "1");
  CHECK(find_newest(folder.path()).path == folder / "iter-00000001");
  CHECK(clean_leftovers(folder.path()).size() == 3);
  CHECK(clean_leftovers(folder.path()).empty());
  CHECK(names(folder.path()) == "iter-00000001 latest");
  leave();
  save(folder.path(), 3);
  CHECK(names(folder.path()) == "iter-00000001 iter-00000003 latest");
}

TEST_CASE("find_newest: the newest good one, with those passed over and why") {
  TempFolder folder;
  CHECK_FALSE(find_newest(folder.path()).path);
  for (const auto iteration : {100, 200, 300}) save(folder.path(), iteration);
  CHECK(find_newest(folder.path()).path == folder / "iter-00000300");
  CHECK(find_newest(folder.path()).passed_over.empty());

  fs::remove(folder / "iter-00000300/optim.safetensors");
  flip(folder / "iter-00000200/config.toml", 0, 1);
  auto newest = find_newest(folder.path());
  CHECK(newest.path == folder / "iter-00000100");
  REQUIRE(newest.passed_over.size() == 2);
  CHECK(newest.passed_over[0].path == folder / "iter-00000300");
  CHECK(contains(newest.passed_over[0].reason, "optim.safetensors: open: No such file or directory"));
  CHECK(contains(newest.passed_over[1].reason, "config.toml: damaged"));

  fs::remove(folder / "iter-00000100" / manifest_name);
  newest = find_newest(folder.path());
  CHECK_FALSE(newest.path);
  CHECK(newest.passed_over.size() == 3);
}

TEST_CASE("find_iteration: there, or an error that says which are") {
  TempFolder folder;
  const auto none = message_of([&] { find_iteration(folder.path(), 5); });
  CHECK(none == "no snapshot of iteration 5 in " + folder.path().string() + "; there is none at all");
  for (const auto iteration : {100, 200, 300}) save(folder.path(), iteration);
  CHECK(find_iteration(folder.path(), 200) == folder / "iter-00000200");
  try {
    find_iteration(folder.path(), 500);
    FAIL("found");
  } catch (const UserError& error) {
    CHECK(error.code() == ExitCode::snapshot);
    CHECK(error.what() == "no snapshot of iteration 500 in " + folder.path().string() + "; there are: 100, 200, 300");
    CHECK(error.hint() == "--iter selects a snapshot; --max-iter sets the length of a run");
  }
}

TEST_CASE("link_snapshot: a link to a snapshot that is there") {
  TempFolder folder;
  save(folder.path(), 1);
  save(folder.path(), 2);
  link_snapshot(folder.path(), 1);
  link_snapshot(folder.path(), 2, "best-top5");
  CHECK(fs::read_symlink(folder / "best") == "iter-00000001");
  CHECK(fs::read_symlink(folder / "best-top5") == "iter-00000002");
  CHECK(fs::read_symlink(folder / "latest") == "iter-00000002");
  CHECK(contains(message_of([&] { link_snapshot(folder.path(), 3); }), "no snapshot of iteration 3"));
}

TEST_CASE("prune: the last ones, the protected and the linked stay") {
  TempFolder folder;
  for (const auto iteration : {1, 2, 3, 4, 5, 6}) save(folder.path(), iteration);
  link_snapshot(folder.path(), 2);
  CHECK(prune(folder.path(), 0).empty());
  CHECK(prune(folder.path(), 6).empty());
  const std::uint64_t protect[] = {1};
  const auto removed = prune(folder.path(), 2, protect);
  CHECK(removed == std::vector<fs::path>{folder / "iter-00000004", folder / "iter-00000003"});
  CHECK(names(folder.path()) == "best iter-00000001 iter-00000002 iter-00000005 iter-00000006 latest");
}

TEST_CASE("prune: incomplete ones do not count as kept, nor does `latest` fall for being old") {
  TempFolder folder;
  for (const auto iteration : {1, 2, 3, 4, 5}) save(folder.path(), iteration);
  for (const char* name : {"iter-00000005", "iter-00000004", "iter-00000002"})
    fs::remove(folder / name / manifest_name);
  CHECK(prune(folder.path(), 2).empty());
  CHECK(iterations(folder.path()) == "5! 4! 3 2! 1");
  CHECK(prune(folder.path(), 1).size() == 2);
  CHECK(iterations(folder.path()) == "5! 4! 3");

  save(folder.path(), 1);  // a run that went back
  CHECK(prune(folder.path(), 1).empty());
  CHECK(iterations(folder.path()) == "5! 4! 3 1");
}

TEST_CASE("prune: of snapshots that were set aside as many stay as of the others, the newest") {
  TempFolder folder;
  for (const auto iteration : {1, 2, 3, 4, 5, 6}) save(folder.path(), iteration);
  set_aside_newer(folder.path(), 2);
  CHECK(names(folder / "superseded") == "iter-00000003 iter-00000004 iter-00000005 iter-00000006");
  CHECK(prune(folder.path(), 2).size() == 2);
  CHECK(names(folder / "superseded") == "iter-00000005 iter-00000006");
  CHECK(iterations(folder.path()) == "2 1");
}

TEST_CASE("newer snapshots are set aside where `latest` is a folder that is nobody's snapshot, too") {
  TempFolder folder;
  for (const auto iteration : {1, 2, 3}) save(folder.path(), iteration);
  fs::remove(folder / "latest");
  fs::create_directory(folder / "latest");
  put(folder / "latest/notes", "");
  CHECK(set_aside_newer(folder.path(), 2).size() == 1);
  CHECK(iterations(folder.path()) == "2 1");
  CHECK(fs::exists(folder / "latest/notes"));
}

TEST_CASE("links that became folders in a copy are links again, and nothing is lost") {
  TempFolder folder;
  for (const auto iteration : {1, 2, 3}) save(folder / "run", iteration);
  link_snapshot(folder / "run", 1);
  const auto copy = folder / "copy";
  const auto copy_run = [&] {
    fs::remove_all(copy);
    fs::copy(folder / "run", copy, fs::copy_options::recursive);  // follows links
    REQUIRE_FALSE(fs::is_symlink(copy / "best"));
  };
  copy_run();
  fs::create_directory(copy / "notes");
  CHECK(restore_links(copy) == std::vector{copy / "best", copy / "latest"});
  CHECK(names(copy) == "best iter-00000001 iter-00000002 iter-00000003 latest notes");
  CHECK(fs::read_symlink(copy / "best") == "iter-00000001");
  CHECK(fs::read_symlink(copy / "latest") == "iter-00000003");
  CHECK(restore_links(copy).empty());

  copy_run();  // in part
  fs::remove_all(copy / "iter-00000001");
  put(copy / "iter-00000003/model.safetensors", "");
  put(copy / "best/extra", "");
  restore_links(copy);
  CHECK(iterations(copy) == "3 2 1");
  for (const auto& info : list_snapshots(copy)) CHECK(verify_snapshot(info.path).empty());
  CHECK(fs::exists(copy / "iter-00000001/extra"));
  CHECK(fs::read_symlink(copy / "latest") == "iter-00000003");

  copy_run();  // the copy itself is damaged: it is nobody's snapshot
  put(copy / "best/model.safetensors", "");
  CHECK(restore_links(copy) == std::vector{copy / "latest"});
  CHECK(fs::is_directory(fs::symlink_status(copy / "best")));
}

TEST_CASE("copies of snapshots that are no links of the run are left alone, as is what another run made") {
  TempFolder folder;
  for (const auto iteration : {1, 2}) save(folder / "run", iteration);
  fs::copy(folder / "run/iter-00000001", folder / "run/backup");
  const SmallContent other(1, 500);
  write_snapshot(folder / "other", other.content);
  fs::copy(folder / "other/iter-00000001", folder / "run/best");
  CHECK(restore_links(folder / "run").empty());
  CHECK(fs::is_directory(fs::symlink_status(folder / "run/backup")));
  CHECK(fs::is_directory(fs::symlink_status(folder / "run/best")));
}

TEST_CASE("where a link cannot be made the snapshot is saved all the same, and the error says which it was") {
  TempFolder folder;
  save(folder.path(), 1);
  fs::remove(folder / "latest");
  fs::create_directory(folder / "latest");
  CHECK_THROWS_AS(save(folder.path(), 2), LinkError);
  CHECK(find_newest(folder.path()).path == folder / "iter-00000002");
}

TEST_CASE("a folder that cannot be: the error names it, and nothing is left") {
  TempFolder folder;
  put(folder / "file", "");
  const auto message = message_of([&] { save(folder / "file/snapshots", 1); });
  CHECK(contains(message, "/file/snapshots: mkdir: Not a directory"));
  CHECK(names(folder.path()) == "file");
}

TEST_CASE("a full disk: the error says so, the snapshot before is good, and the next one can be saved") {
  TempFolder folder;
  const SmallDisk disk(folder / "disk", "256k");
  SKIP_UNLESS(disk.mounted(), "root", "mounting a tmpfs needs root");
  const auto snapshots = folder / "disk/snapshots";
  save(snapshots, 1);
  const SmallContent large(2, 100'000);
  try {
    write_snapshot(snapshots, large.content);
    FAIL("there was room");
  } catch (const UserError& error) {
    CHECK(error.code() == ExitCode::snapshot);
    CHECK(contains(error.what(), "/model.safetensors: write: No space left on device"));
    CHECK(contains(error.hint(), "free some space"));
  }
  CHECK(names(snapshots) == "iter-00000001 latest");
  CHECK(find_newest(snapshots).path == snapshots / "iter-00000001");
  CHECK(fs::read_symlink(snapshots / "latest") == "iter-00000001");
  CHECK(verify_snapshot(save(snapshots, 3)).empty());
}

TEST_CASE("a read-only disk: the error says so") {
  TempFolder folder;
  const SmallDisk disk(folder / "disk", "256k");
  SKIP_UNLESS(disk.mounted(), "root", "mounting a tmpfs needs root");
  save(folder / "disk", 1);
  REQUIRE(::mount("none", (folder / "disk").c_str(), nullptr, MS_REMOUNT | MS_RDONLY, nullptr) == 0);
  CHECK(contains(message_of([&] { save(folder / "disk", 2); }), ": mkdir: Read-only file system"));
  CHECK(find_newest(folder / "disk").path == folder / "disk/iter-00000001");
}

}  // namespace flowtrain::snapshot_folder_test

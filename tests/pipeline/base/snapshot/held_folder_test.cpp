#include "sampling/io/held_folder.h"

#include <doctest/doctest.h>

#include "pipeline/base/snapshot/atomic_folder.h"
#include "pipeline/base/snapshot/snapshot_files.h"
#include "tests/support/snapshot_fixture.h"
#include "tests/support/temp_folder.h"

namespace flowtrain::held_folder_test {

namespace fs = std::filesystem;

namespace {

/// Each way to write below `folder`.
void check_refused(const fs::path& folder) {
  CHECK_THROWS_AS(make_folders(folder / "snapshots"), FolderLost);
  CHECK_THROWS_AS(write_file_atomically(folder / "result.json", "{}"), FolderLost);
  CHECK_THROWS_AS(File::create(folder / "a.png"), FolderLost);
  CHECK_THROWS_AS(AtomicFolder(folder / "iter-00000001"), FolderLost);
  CHECK_THROWS_AS(swap_link(folder, "best", "iter-00000001"), LinkError);
  CHECK_THROWS_AS(rename_path("elsewhere", folder / "b"), FolderLost);
  CHECK_THROWS_AS(write_snapshot(folder / "snapshots", {}), FolderLost);
}

}  // namespace

TEST_CASE("a folder that was removed is not made anew") {
  const TempFolder temp;
  const auto folder = temp.path() / "run";
  fs::create_directory(folder);
  const HeldFolder held(folder);
  CHECK_NOTHROW(write_file_atomically(folder / "a", "1"));
  fs::remove_all(folder);
  check_refused(folder);
  CHECK_FALSE(fs::exists(folder));
  fs::create_directory(folder);  // another run's
  check_refused(folder);
  CHECK(fs::is_empty(folder));
  CHECK(held.is_lost());
}

TEST_CASE("a folder that was renamed is written neither under its old name nor under that of another one") {
  const TempFolder temp;
  const auto folder = temp.path() / "run";
  fs::create_directory(folder);
  {
    const HeldFolder held(folder);
    fs::rename(folder, temp.path() / "moved");
    try {
      held.check();
      FAIL("no error");
    } catch (const FolderLost& error) {
      CHECK(error.code() == ExitCode::snapshot);
      CHECK(std::string(error.what()).find((temp.path() / "moved").string()) != std::string::npos);
    }
    check_refused(folder);
    CHECK_NOTHROW(write_file_atomically(temp.path() / "run-2", "beside it"));
    fs::create_directory_symlink(temp.path() / "moved", folder);  // the name leads there again
    CHECK_NOTHROW(held.check());
    fs::remove(folder);
  }
  CHECK_NOTHROW(make_folders(folder));  // nobody holds it any more
}

}  // namespace flowtrain::held_folder_test

// Damaged snapshots and disks that are full.

#include <doctest/doctest.h>
#include <sys/mount.h>

#include <sstream>

#include "tests/support/skip.h"
#include "tests/support/temp_run.h"

namespace flowtrain::damage_test {
namespace {

namespace fs = std::filesystem;

/// Turns one bit of a file's last byte, which in a snapshot belongs to a tensor.
void flip_last_byte(const fs::path& path) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekg(-1, std::ios::end);
  const char byte = static_cast<char>(file.get() ^ 1);
  file.seekp(-1, std::ios::end);
  file.put(byte);
}

/// A small disk of its own, where the test may mount one.
class SmallDisk {
 public:
  SmallDisk(fs::path path, const std::string& size) : path_(std::move(path)) {
    fs::create_directory(path_);
    mounted_ = ::mount("tmpfs", path_.c_str(), "tmpfs", 0, ("size=" + size).c_str()) == 0;
  }
  ~SmallDisk() {
    if (mounted_) ::umount2(path_.c_str(), MNT_DETACH);
  }
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;
  bool mounted() const { return mounted_; }

 private:
  fs::path path_;
  bool mounted_ = false;
};

}  // namespace

TEST_CASE("a damaged snapshot is passed over, named, and the run ends as if nothing had been") {
  const TempRun place;
  REQUIRE_EXIT(place.train({"--run-dir", "straight"}), 0);
  REQUIRE_EXIT(place.train({"--max-iter", "30"}), 0);
  const auto newest = place.path("runs/tiny/snapshots/iter-00000030");
  REQUIRE(fs::exists(newest));
  flip_last_byte(newest / "model.safetensors");

  const auto verify = place.run({"snapshot", "verify", "runs/tiny"});
  CHECK_EXIT(verify, 4);
  CHECK_PRINTS(verify, "model.safetensors");
  const auto names = place.run({"snapshot", "show", "runs/tiny", "--iter", "28"});
  REQUIRE_EXIT(names, 0);
  bool tensor_named = false;  // one of those that `show` lists
  std::istringstream shown(names.out);
  for (std::string word; shown >> word;)
    if (word.find('.') != std::string::npos && word.find('/') == std::string::npos && !std::isdigit(word[0]))
      tensor_named |= verify.out.find("'" + word + "'") != std::string::npos;
  CHECK_MESSAGE(tensor_named, verify);

  const auto asked = place.train({"--iter", "30"});
  CHECK_EXIT(asked, 4);
  CHECK_SAYS(asked, "iter-00000030");

  const auto resumed = place.train({"--resume", "auto"});
  REQUIRE_EXIT(resumed, 0);
  CHECK_SAYS(resumed, "passing over runs/tiny/snapshots/iter-00000030");
  CHECK_SAYS(resumed, "going on after iteration 28");
  CHECK(end_of(place.path("runs/tiny")) == end_of(place.path("straight")));
  CHECK_EXIT(place.run({"snapshot", "verify", "runs/tiny/snapshots/iter-00000060"}), 0);
}

TEST_CASE("plugins of a damaged snapshot are not opened, and another user's are named before they are") {
  const TempRun place(with_plugins({"every_point"}, tiny_config));
  REQUIRE_EXIT(place.train({"--run-dir", "run", "--max-iter", "7", "--set", "val.every=0"}), 0);
  const std::string snapshot = "run/snapshots/iter-00000007";
  const Words predict{"predict", snapshot, "absent.png", "--quiet"};
  CHECK(place.run(predict).err.find("opening the plugin") == std::string::npos);
  flip_last_byte(place.path(snapshot) / "model.safetensors");
  for (const Words& words :
       {predict, Words{"config", snapshot + "/config.toml"}, Words{"export", snapshot, "--out", "a.pt"}}) {
    const auto refused = place.run(words);
    CHECK_EXIT(refused, 4);
    CHECK_SAYS(refused, "model.safetensors: damaged");
    CHECK_SAYS(refused, "every_point.so is not opened");
  }
  SKIP_UNLESS(::geteuid() == 0, "root", "files can be given to another user by root alone");
  REQUIRE(::chown((place.path("run") / "config.toml").c_str(), 12345, 12345) == 0);
  const auto named = place.run({"plan", "run"});
  CHECK_EXIT(named, 0);
  CHECK_SAYS(named, "every_point.so of run/config.toml; it is code");
}

TEST_CASE("a full disk costs snapshots, not the training") {
  const TempRun place;
  const SmallDisk disk(place.path("disk"), "700k");
  SKIP_UNLESS(disk.mounted(), "root", "mounting a tmpfs needs root");
  // About 200 kB each: the fourth does not fit.
  const auto outcome =
      place.train({"--run-dir", "disk/run", "--set", "net.hidden=[32, 256]", "--set", "snapshot.keep_last=9"});
  CHECK_EXIT(outcome, 4);
  for (auto text :
       {"No space left on device", "training goes on", "the last snapshot could not be written", "--resume auto"})
    CHECK_SAYS(outcome, text);
  CHECK_SAYS(outcome, "done: iteration 60");
  const auto list = place.run({"snapshot", "verify", "disk/run"});
  CHECK_EXIT(list, 0);
}

TEST_CASE("a snapshot that a limit on files forbids is a warning; the one before stays good") {
  const TempRun place;
  REQUIRE_EXIT(place.train({"--max-iter", "10"}), 0);
  auto limited = place.process_options();
  limited.file_bytes = 20'000;  // enough for logs, too little for the weights
  const auto outcome = run_program({"tiny.toml", "--resume", "auto", "--max-iter", "20"}, limited);
  CHECK_EXIT(outcome, 4);
  for (auto text : {"File too large", "training goes on", "the last snapshot could not be written"})
    CHECK_SAYS(outcome, text);
  CHECK_EXIT(place.run({"snapshot", "verify", "runs/tiny"}), 0);

  REQUIRE_EXIT(place.train({"--run-dir", "straight"}), 0);
  REQUIRE_EXIT(place.train({"--resume", "auto"}), 0);
  CHECK(end_of(place.path("runs/tiny")) == end_of(place.path("straight")));
}

}  // namespace flowtrain::damage_test

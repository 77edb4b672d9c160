// Keys that are given and that nothing reads.

#include "pipeline/base/config/idle_keys.h"

#include <doctest/doctest.h>

#include "tests/pipeline/base/config/support.h"

namespace flowtrain::idle_keys_test {

using namespace flowtrain::testing;

namespace {

/// The notes on a file a.toml whose third line begins `text`, without its folder's name.
std::vector<std::string> notes_of(const std::string& text) {
  auto notes = idle_keys(loaded(letters + text));
  for (auto& note : notes)
    if (const auto file = note.find("/a.toml:"); file != std::string::npos) {
      const auto begin = note.rfind('(', file) + 1;
      note.erase(begin, file + 1 - begin);
    }
  return notes;
}

}  // namespace

TEST_CASE("a key that another key keeps from being read is told, with both places") {
  CHECK(notes_of("[ema]\nwarmup = false\n") ==
        std::vector<std::string>{"ema.warmup (a.toml:4:1) is not read: decay is 0.0 (default)"});
  CHECK(notes_of("[early_stop]\nmode = \"min\"\nmetric = \"loss\"\n") ==
        std::vector<std::string>{"early_stop.metric (a.toml:5:1) is not read: patience is 0 (default)",
                                 "early_stop.mode (a.toml:4:1) is not read: patience is 0 (default)"});
  CHECK(notes_of("[train]\nrollback_lr = 0.1\nmax_skipped = 3\n") ==
        std::vector<std::string>{"train.rollback_lr (a.toml:4:1) is not read: nonfinite is \"stop\" (default)",
                                 "train.max_skipped (a.toml:5:1) is not read: on_error is \"stop\" (default)"});
  CHECK(notes_of("[net]\nname = \"mlp\"\nstrict = true\n[lr]\ndecay_rate = 2.0\n") ==
        std::vector<std::string>{"net.strict (a.toml:5:1) is not read: pretrain is \"\" (default)",
                                 "lr.decay_rate (a.toml:7:1) is not read: stepsize is 0 (default)"});
}

TEST_CASE("a [[metric]] that is not among val.metrics is told") {
  const std::string own = "[[metric]]\nname = \"top2\"\nlabel = \"two\"\n";
  CHECK(notes_of(own) ==
        std::vector<std::string>{"metric.0 (a.toml:4:1) is not measured: 'two' is not among val.metrics (default)"});
  CHECK(notes_of("[val]\nmetrics = [\"two\"]\n" + own).empty());
}

TEST_CASE("a key that is read, or that is as by default, is not told") {
  CHECK(notes_of("[net]\nname = \"mlp\"\ndropout = 0.5\nhidden = [8]\n").empty());
  CHECK(notes_of("[net]\nname = \"lenet\"\ndropout = 0.5\n").empty());
  CHECK(notes_of("[optim]\nname = \"adam\"\nbetas = [0.5, 0.9]\n").empty());
  CHECK(notes_of("[val]\nevery = 5\n[early_stop]\npatience = 2\nmode = \"min\"\n").empty());
  CHECK(notes_of("[ema]\nwarmup = true\n").empty());
  CHECK(notes_of("[train]\nclip_by = \"value\"\n[optim]\nclip = 1.0\n").empty());
}

}  // namespace flowtrain::idle_keys_test

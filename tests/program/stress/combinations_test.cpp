// Runs of all that a configuration may hold, in combinations drawn from a seed: killed and signalled at drawn moments
// and resumed, each ends as the same run that nobody disturbed.

#include <doctest/doctest.h>

#include <cmath>

#include "tests/program/stress/comparison.h"
#include "tests/program/stress/disturbance.h"
#include "tests/support/fault_points.h"

namespace flowtrain::combinations_test {
namespace {

constexpr std::uint64_t seed = 21;

/// One combination: trained once undisturbed, and once not.
class Trial {
 public:
  explicit Trial(std::uint64_t index)
      : combination_(Composer(seed, index).compose()),
        moments_(seed + 1, index),
        straight_(combination_.toml),
        disturbed_(combination_.toml) {}

  void run() {
    const auto outcome = straight_.train(words(straight_));
    CHECK_MESSAGE(outcome.code == 0, report() << outcome);
    if (outcome.code != 0) return;
    check_sound();
    if (!disturb()) return;
    const Comparison differences(run_of(straight_), run_of(disturbed_), combination_);
    CHECK_MESSAGE(differences.text().empty(), differences.text() << report());
  }

  /// How often the run was ended, or its ranks were started again.
  int hits() const { return hits_; }

 private:
  static fs::path run_of(const TempRun& place) { return fs::canonical(place.path(".")) / "run"; }

  Words words(const TempRun& place) const {
    return with({"--run-dir", run_of(place).string(), "--resume", "auto"}, combination_.flags);
  }

  /// Two or three times, and then not. False where a run did not end as it may.
  bool disturb() {
    const auto run = run_of(disturbed_);
    for (int left = moments_.between(2, 3); left > 0; --left) {
      const auto moment = draw_disturbance(moments_, combination_);
      const auto outcome =
          run_disturbed(with({"tiny.toml"}, words(disturbed_)), disturbed_.process_options(), run, moment);
      wait_for_ranks_to_end(run);
      met_ << "  " << moment << ": exit code " << outcome.code << ", signal " << outcome.signal << "\n";
      const bool expected = may_end_so(outcome, moment, combination_);
      CHECK_MESSAGE(expected, report() << outcome);
      if (!expected) return false;
      hits_ += outcome.code != 0 || times_in(outcome.err, "starting all ranks again") > 0;
      if (outcome.code == 0) return true;
    }
    const auto outcome = disturbed_.train(words(disturbed_));
    CHECK_MESSAGE(outcome.code == 0, report() << outcome);
    return outcome.code == 0;
  }

  /// What holds for a run that nobody disturbed, whatever is in it.
  void check_sound() const {
    if (!combination_.has_witness) return;
    if (combination_.processes == 1) check_losses();
    if (!combination_.witness_in_all) return;
    const auto calls = [&](int rank) { return read_text(straight_.path("calls." + std::to_string(rank))); };
    for (int rank = 1; rank < combination_.processes; ++rank) {
      const bool same = calls(rank) == calls(0);
      CHECK_MESSAGE(same, "hooks of rank " << rank << " and of rank 0 were called at other snapshots" << report());
    }
  }

  // The loss of an iteration is the mean over its rows, each of which goes through the net once.
  void check_losses() const {
    std::string wrong;
    for (auto& line : metrics_of(run_of(straight_), "train")) {
      const auto number = [&](const char* key) {
        return line.contains(key) && line.at(key).is_number() ? line.at(key).get<double>() : std::nan("");
      };
      const double seen = number("witness.loss");
      const bool right =
          std::abs(number("loss") - seen) <= 1e-4 * seen && number("witness.forwards") == combination_.accum;
      if (!right) wrong += line.dump() + "\n";
    }
    CHECK_MESSAGE(wrong.empty(), "not the mean loss of the rows, or not one forward a micro-batch:\n"
                                     << wrong << report());
  }

  std::string report() const {
    std::string flags;
    for (auto& flag : combination_.flags) flags += " " + flag;
    return "\nflags:" + flags + "\ndisturbed so:\n" + met_.str() + "configuration:\n" + combination_.toml;
  }

  const Combination combination_;
  Draw moments_;
  const TempRun straight_, disturbed_;
  std::ostringstream met_;
  int hits_ = 0;
};

}  // namespace

TEST_CASE("whatever a run combines, it ends as if nobody had killed and signalled it at random moments" *
          points_sampled) {
  FaultPoints points("combinations");
  int hits = 0;
  for (const std::uint64_t point : points.each(100 * times())) {
    INFO(points.repeat(point));
    points.count();
    Trial trial(point);
    trial.run();
    hits += trial.hits();
  }
  MESSAGE("disturbed " << hits << " times");
  points.finish();
}

}  // namespace flowtrain::combinations_test
